#![feature(no_core, lang_items, abi_ptx, intrinsics, rustc_attrs, auto_traits, link_llvm_intrinsics, freeze_impls)]
#![allow(internal_features)]
#![no_core]
#[path = "core.rs"] mod small_core;
use small_core::*;

/// x[index[i]], with the bounds checks of slices: one that is out of range ends the kernel.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn gather(x: *const f32, length: usize, index: *const u32, y: *mut f32, n: usize) {
    let (x, index, i) = (slice(x, length), slice(index, n), thread());
    if i < n { put(y, i, x[index[i] as usize] * 2.0 + 1.0); }
}

/// The CRC-32 of each row, by a table of sixteen.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn crc32(data: *const u8, columns: usize, out: *mut u32, rows: usize) {
    let row = thread();
    if row >= rows { return; }
    let data = slice(data, columns * rows);
    let mut table = [0u32; 16];
    let mut t = 0usize;
    while t < 16 {
        let mut c = t as u32;
        let mut bit = 0u32;
        while bit < 4 { c = if c & 1 == 1 { 0xEDB88320u32 ^ (c >> 1u32) } else { c >> 1u32 }; bit = bit + 1; }
        table[t] = c;
        t = t + 1;
    }
    let mut crc = 0xFFFFFFFFu32;
    let mut i = 0usize;
    while i < columns {
        crc = crc ^ data[row * columns + i] as u32;
        crc = table[(crc & 15) as usize] ^ (crc >> 4u32);
        crc = table[(crc & 15) as usize] ^ (crc >> 4u32);
        i = i + 1;
    }
    put(out, row, crc ^ 0xFFFFFFFFu32);
}

/// A polynomial by Horner's rule with fma, and the nearer root of a quadratic in double precision.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn floats(x: *const f32, p: *mut f32, root: *mut f64, n: usize) {
    let (x, i) = (slice(x, n), thread());
    if i >= n { return; }
    let coefficients = [0.5f32, -1.25, 3.0, 0.0625, -2.0];
    let (mut sum, mut k) = (0.0f32, 0usize);
    while k < 5 { sum = fma(sum, x[i], coefficients[k]); k = k + 1; }
    put(p, i, sum);
    let b = x[i] as f64;
    put(root, i, (sqrt(b * b + 4.0) - b) / 2.0);
}

enum Step { Halve, Climb, Stop }
fn step(v: u64) -> Step { if v == 1 { Step::Stop } else if v & 1 == 0 { Step::Halve } else { Step::Climb } }

/// Greatest common divisors, and the highest point of Collatz' orbit with a match over an enum.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn integers(a: *const u64, b: *const u64, gcd: *mut u64, peak: *mut u64, bits: *mut u32, n: usize) {
    let (a, b, i) = (slice(a, n), slice(b, n), thread());
    if i >= n { return; }
    let (mut u, mut v) = (a[i], b[i]);
    while v != 0 { let r = u % v; u = v; v = r; }
    put(gcd, i, u);
    let (mut w, mut top) = (i as u64 + 1, i as u64 + 1);
    loop {
        match step(w) { Step::Halve => w = w / 2, Step::Climb => w = 3 * w + 1, Step::Stop => break }
        if w > top { top = w; }
    }
    put(peak, i, top);
    put(bits, i, popcount((a[i] ^ b[i]) as u32));
}
