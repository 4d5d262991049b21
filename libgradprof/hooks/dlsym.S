/* SPDX-License-Identifier: MIT */
/*
 * dlsym and dlvsym. A look-up that is none of ours jumps to the real function with the caller's return
 * address still on top of the stack: RTLD_NEXT and RTLD_DEFAULT depend on who asks. A compiler gives no
 * such promise (unoptimised and sanitized builds make no tail calls), hence assembly. x86-64, System V.
 *
 *   rdi = handle, rsi = name, rdx = version (dlvsym)
 */
#ifndef __x86_64__
#error "libgradprof is written for x86-64"
#endif

        .text

        .macro  thunk name, real
        .globl  \name
        .type   \name, @function
        .p2align 4
\name:
        .cfi_startproc
        endbr64
        testq   %rsi, %rsi              /* dlsym(handle, NULL): the real one's business */
        je      2f
        cmpb    $'c', (%rsi)
        jne     2f
        cmpb    $'u', 1(%rsi)
        jne     2f
        pushq   %rdi
        .cfi_adjust_cfa_offset 8
        pushq   %rsi
        .cfi_adjust_cfa_offset 8
        pushq   %rdx                    /* three pushes align the stack for the call */
        .cfi_adjust_cfa_offset 8
        movq    24(%rsp), %rdx          /* the caller */
        call    gp_dlsym_answer
        popq    %rdx
        .cfi_adjust_cfa_offset -8
        popq    %rsi
        .cfi_adjust_cfa_offset -8
        popq    %rdi
        .cfi_adjust_cfa_offset -8
        testq   %rax, %rax              /* GP_DLSYM_PASS */
        je      2f
        cmpq    $1, %rax                /* GP_DLSYM_NONE */
        jne     1f
        xorl    %eax, %eax
1:      ret
2:      movq    \real(%rip), %rax
        testq   %rax, %rax
        je      3f
        jmp     *%rax
3:      pushq   %rdi
        .cfi_adjust_cfa_offset 8
        pushq   %rsi
        .cfi_adjust_cfa_offset 8
        pushq   %rdx
        .cfi_adjust_cfa_offset 8
        call    gp_loader_init
        popq    %rdx
        .cfi_adjust_cfa_offset -8
        popq    %rsi
        .cfi_adjust_cfa_offset -8
        popq    %rdi
        .cfi_adjust_cfa_offset -8
        movq    \real(%rip), %rax
        jmp     *%rax
        .cfi_endproc
        .size   \name, . - \name
        .endm

        .hidden gp_dlsym_answer
        .hidden gp_loader_init
        .hidden gp_real_dlsym
        .hidden gp_real_dlvsym

        thunk   dlsym, gp_real_dlsym
        thunk   dlvsym, gp_real_dlvsym

        .section .note.GNU-stack, "", @progbits
