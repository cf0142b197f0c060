"""Bech32 (BIP 173), the text form of age keys. Post-quantum ones are longer than other readers take."""

from __future__ import annotations

from collections.abc import Iterable

_CHARACTERS = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_GENERATORS = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)
_CHECKSUM_LENGTH = 6


def encode(prefix: str, data: bytes) -> str:
    """Lower case; the caller raises what is written in capitals."""
    values = _regroup(data, 8, 5, pad=True)
    check = _polymod([*_expanded(prefix), *values, *[0] * _CHECKSUM_LENGTH]) ^ 1
    checksum = [check >> 5 * (_CHECKSUM_LENGTH - 1 - place) & 31 for place in range(_CHECKSUM_LENGTH)]
    return f"{prefix.lower()}1" + "".join(_CHARACTERS[value] for value in [*values, *checksum])


def decode(prefix: str, text: str) -> bytes:
    """The data behind `prefix`; ValueError (without the text in it) if it is not that."""
    if text not in (text.lower(), text.upper()):
        raise ValueError("mixed case")
    found, _, body = text.lower().rpartition("1")
    if found != prefix.lower():
        raise ValueError("another prefix")
    values = [_CHARACTERS.find(char) for char in body]
    if -1 in values or len(values) < _CHECKSUM_LENGTH or _polymod([*_expanded(found), *values]) != 1:
        raise ValueError("a wrong checksum")
    return bytes(_regroup(values[:-_CHECKSUM_LENGTH], 5, 8, pad=False))


def _expanded(prefix: str) -> list[int]:
    codes = prefix.lower().encode()
    return [*(code >> 5 for code in codes), 0, *(code & 31 for code in codes)]


def _polymod(values: Iterable[int]) -> int:
    check = 1
    for value in values:
        top = check >> 25
        check = (check & 0x1FFFFFF) << 5 ^ value
        for place, generator in enumerate(_GENERATORS):
            if top >> place & 1:
                check ^= generator
    return check


def _regroup(values: Iterable[int], from_bits: int, to_bits: int, *, pad: bool) -> list[int]:
    held = bits = 0
    result = []
    for value in values:
        held = held << from_bits | value
        bits += from_bits
        while bits >= to_bits:
            bits -= to_bits
            result.append(held >> bits & (1 << to_bits) - 1)
        held &= (1 << bits) - 1
    if pad and bits:
        result.append(held << to_bits - bits)
    elif not pad and (bits >= from_bits or held):
        raise ValueError("wrong padding")
    return result
