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

trait Colour { fn steps(&self, x: f32, y: f32) -> u32; }
struct Mandelbrot { limit: u32 }
struct Julia { limit: u32, cx: f32, cy: f32 }
#[inline(always)] fn orbit(mut x: f32, mut y: f32, cx: f32, cy: f32, limit: u32) -> u32 {
    let mut k = 0u32;
    while k < limit {
        let (xx, yy) = (x * x, y * y);
        if xx + yy > 4.0 { break; }
        y = 2.0 * (x * y) + cy;
        x = xx - yy + cx;
        k = k + 1;
    }
    k
}
impl Colour for Mandelbrot { fn steps(&self, x: f32, y: f32) -> u32 { orbit(0.0, 0.0, x, y, self.limit) } }
impl Colour for Julia { fn steps(&self, x: f32, y: f32) -> u32 { orbit(x, y, self.cx, self.cy, self.limit) } }
#[inline(never)] fn colour<T: Colour>(of: &T, i: usize, width: usize) -> u32 {
    of.steps((i % width) as f32 * 0.0625 - 2.0, (i / width) as f32 * 0.0625 - 1.0)
}

/// Steps of two orbits, by a function that is generic over a trait; products and sums are rounded apart.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn orbits(first: *mut u32, second: *mut u32, width: usize, n: usize) {
    let i = thread();
    if i >= n { return; }
    put(first, i, colour(&Mandelbrot { limit: 50 }, i, width));
    put(second, i, colour(&Julia { limit: 40, cx: -0.75, cy: 0.125 }, i, width));
}

/// Each thread sorts its sixteen numbers by insertion, in memory of its own, with the bounds checks of arrays.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn insertions(x: *const i32, y: *mut i32, n: usize) {
    let (x, i) = (slice(x, n * 16), thread());
    if i >= n { return; }
    let mut row = [0i32; 16];
    let mut k = 0usize;
    while k < 16 {
        let v = x[i * 16 + k];
        let mut at = k;
        while at > 0 && row[at - 1] > v { row[at] = row[at - 1]; at = at - 1; }
        row[at] = v;
        k = k + 1;
    }
    k = 0;
    while k < 16 { put(y, i * 16 + k, row[k]); k = k + 1; }
}

#[inline(always)] fn turn(x: u64, by: u64) -> u64 { (x << by) | (x >> (64 - by)) }

/// xxHash64's rounds over the words of a row, and the sum of the hashes of a warp.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn hashes(x: *const u64, columns: usize, hash: *mut u64, sum: *mut u32, rows: usize) {
    let row = thread();
    let x = slice(x, columns * rows);
    let mut h = 0x27D4EB2F165667C5u64 + columns as u64 * 8;
    let mut k = 0usize;
    while row < rows && k < columns {
        let word = turn(x[row * columns + k] * 0xC2B2AE3D27D4EB4Fu64, 31) * 0x9E3779B185EBCA87u64;
        h = turn(h ^ word, 27) * 0x9E3779B185EBCA87u64 + 0x85EBCA77C2B2AE63u64;
        k = k + 1;
    }
    h = (h ^ (h >> 33)) * 0xC2B2AE3D27D4EB4Fu64;
    h = (h ^ (h >> 29)) * 0x165667B19E3779F9u64;
    h = h ^ (h >> 32);
    if row < rows { put(hash, row, h); }
    let mut total = if row < rows { h as u32 } else { 0u32 };
    let mut step = 16u32;
    while step > 0 { total = total + shuffle_xor(0xFFFFFFFF, total, step, 31); step = step >> 1u32; }
    if row & 31 == 0 { put(sum, row >> 5, total); }
}
