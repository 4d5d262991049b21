/* SPDX-License-Identifier: MIT */
/* What the golden databases say they were recorded from; never compiled, its lines are shown. */
int main(int argc, char **argv)
{
    ag_alexnet *net = ag_alexnet_create(context);
    ag_tensor *x = NULL, *y = NULL, *y_sum = ag_scalar(context, 0);
    for (int i = 0; i < iterations; i++) {
        ag_assign(x, random_batch(context, batch));
        ag_assign(y, ag_alexnet_forward(net, x));
        ag_assign(y_sum, ag_add(y_sum, detach ? ag_detach(y) : y));
        ag_release(y);
        y = NULL;
    }
    return 0;
}
