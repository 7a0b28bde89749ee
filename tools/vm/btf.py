# SPDX-License-Identifier: GPL-2.0-or-later
"""The BTF inside a kernel image: x86's bzImage is decompressed first, arm64's Image is not
compressed."""
import ctypes
import lzma
import struct
import subprocess
import zlib

HEADER = struct.Struct("<HBBIIIII") # magic, version, flags, header's length, types' place and length, strings'
MAGIC = b"\x9f\xeb\x01\x00\x18\0\0\0"


def unzstd(data):
    # The image's size, four bytes, follows the frame: everything before it is complete by then.
    return subprocess.run(["zstd", "-dcq"], input=data, capture_output=True, check=False).stdout


def unlz4(data):
    """The legacy format: length and data of each compressed block of 8 MiB; apt itself has the
    library."""
    lib = ctypes.CDLL("liblz4.so.1")
    block = ctypes.create_string_buffer(8 << 20)
    out, at = [], 4
    while at + 4 < len(data):
        length, = struct.unpack_from("<I", data, at)
        got = lib.LZ4_decompress_safe(data[at + 4:at + 4 + length], block, length, len(block))
        if got <= 0:
            break # the image's size follows the last block
        out.append(block.raw[:got])
        at += 4 + length
    return b"".join(out)


PACKERS = (
    (b"\x02\x21\x4c\x18", unlz4),
    (b"\xfd7zXZ\0", lambda data: lzma.LZMADecompressor().decompress(data)),
    (b"\x1f\x8b", lambda data: zlib.decompressobj(31).decompress(data)),
    (b"\x28\xb5\x2f\xfd", unzstd),
)


def unpacked(image):
    """The kernel itself (Documentation/arch/x86/boot.rst: setup_sects, payload_offset, payload_length)."""
    if image[0x202:0x206] != b"HdrS":
        start, length = 0, len(image)
    else:
        offset, length = struct.unpack_from("<II", image, 0x248)
        start = ((image[0x1f1] or 4) + 1) * 512 + offset
    data = image[start:start + length]
    for magic, unpack in PACKERS:
        if data.startswith(magic):
            return unpack(data)
    return data


def of_image(image):
    """The longest part that is BTF by its header; empty if there is none."""
    data = unpacked(image)
    best = b""
    at = data.find(MAGIC)
    while at >= 0:
        if at + HEADER.size <= len(data):
            _, _, _, header_len, types_at, types_len, strings_at, strings_len = HEADER.unpack_from(data, at)
            end = at + header_len + strings_at + strings_len
            whole = types_at == 0 and strings_at == types_len and strings_len and end <= len(data)
            if whole and data[end - strings_len] == 0 and data[end - 1] == 0 and end - at > len(best):
                best = data[at:end]
        at = data.find(MAGIC, at + 1)
    return best
