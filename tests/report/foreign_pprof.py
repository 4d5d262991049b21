# SPDX-License-Identifier: MIT
"""Reads pprof files without pprof: the wire format by hand, then the rules of pprof's own CheckValid."""

import gzip

STRINGS = 6
REPEATED_NUMBERS = {(2, 1), (2, 2)}  # Sample.location_id, Sample.value


def fields(data):
    """(field, wire type, value) of a message; value is a number or bytes."""
    at = 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        key = number()
        if key & 7 == 0:
            yield key >> 3, number()
        elif key & 7 == 2:
            length = number()
            assert at + length <= len(data), "a field longer than its message"
            yield key >> 3, data[at:at + length]
            at += length
        else:
            raise AssertionError(f"wire type {key & 7} is not used in profile.proto")


def one(data):
    """A message whose fields occur once."""
    result = {}
    for field, value in fields(data):
        assert field not in result, f"field {field} twice"
        result[field] = value
    return result


def packed(data):
    return [value for _, value in fields(b"".join(b"\x08" + part for part in numbers(data)))]


def numbers(data):
    start = 0
    for at, byte in enumerate(data):
        if byte < 0x80:
            yield data[start:at + 1]
            start = at + 1
    assert start == len(data)


class Profile:
    def __init__(self, data):
        self.many = {}
        for field, value in fields(gzip.decompress(data)):
            self.many.setdefault(field, []).append(value)
        self.strings = [text.decode("utf-8") for text in self.many[STRINGS]]
        self.types = [tuple(self.strings[one(v)[n]] for n in (1, 2)) for v in self.many[1]]
        self.mappings = self.table(3)
        self.locations = self.table(4)
        self.functions = self.table(5)
        self.samples = [self.sample(data) for data in self.many.get(2, [])]
        self.check()

    def table(self, field):
        rows = [one(data) for data in self.many.get(field, [])]
        table = {row[1]: row for row in rows}
        assert 0 not in table and len(table) == len(rows), f"ids of field {field}"
        return table

    def sample(self, data):
        sample = one(data)
        label = one(sample[3])
        return (packed(sample[1]), packed(sample[2]),
                {self.strings[label[1]]: self.strings[label[2]]})

    def check(self):
        assert self.strings[0] == "" and len(set(self.strings)) == len(self.strings)
        assert self.strings[self.many[14][0]] in [name for name, _ in self.types]
        for locations, values, _ in self.samples:
            assert len(values) == len(self.types)
            assert locations and all(location in self.locations for location in locations)
        for location in self.locations.values():
            assert location.get(2, 0) in {0, *self.mappings}
            assert one(location[4])[1] in self.functions
        for function in self.functions.values():
            assert self.strings[function[2]]
            assert function.get(4, 0) < len(self.strings)

    def stack(self, sample):
        """Names, innermost first."""
        lines = [one(self.locations[location][4]) for location in sample[0]]
        return [self.strings[self.functions[line[1]][2]] for line in lines]
