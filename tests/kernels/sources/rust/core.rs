//! What the kernels need of `core`, which is not built for this target: operators, bounds checks, thread indices.
#![allow(dead_code)]

#[lang = "pointee_sized"] pub trait PointeeSized {}
#[lang = "meta_sized"] pub trait MetaSized: PointeeSized {}
#[lang = "sized"] pub trait Sized: MetaSized {}
#[lang = "copy"] pub trait Copy {}
#[lang = "freeze"] pub unsafe auto trait Freeze {}
#[lang = "legacy_receiver"] pub trait LegacyReceiver {}
impl<T: PointeeSized> LegacyReceiver for &T {}
impl<T: PointeeSized> LegacyReceiver for &mut T {}
#[lang = "sync"] pub trait Sync {}
impl Sync for u32 {}
impl<T: PointeeSized> Copy for *const T {}
impl<T: PointeeSized> Copy for *mut T {}
impl<T: PointeeSized> Copy for &T {}

macro_rules! operator {
    ($trait:ident $item:literal $method:ident $op:tt: $($type:ty)*) => {
        #[lang = $item] pub trait $trait<R = Self> { type Output; fn $method(self, r: R) -> Self::Output; }
        $(impl $trait for $type { type Output = $type; #[inline(always)] fn $method(self, r: $type) -> $type { self $op r } })*
    };
}
operator!(Add "add" add +: u8 u32 i32 u64 usize f32 f64);
operator!(Sub "sub" sub -: u8 u32 i32 u64 usize f32 f64);
operator!(Mul "mul" mul *: u8 u32 i32 u64 usize f32 f64);
operator!(Div "div" div /: u32 i32 u64 usize f32 f64);
operator!(Rem "rem" rem %: u32 i32 u64 usize);
operator!(BitXor "bitxor" bitxor ^: u8 u32 u64);
operator!(BitAnd "bitand" bitand &: u8 u32 u64 usize bool);
operator!(BitOr "bitor" bitor |: u8 u32 u64 bool);
operator!(Shl "shl" shl <<: u32 u64);
operator!(Shr "shr" shr >>: u32 u64 usize);

#[lang = "neg"] pub trait Neg { type Output; fn neg(self) -> Self::Output; }
impl Neg for f32 { type Output = f32; fn neg(self) -> f32 { -self } }

#[lang = "index"] pub trait Index<I> { type Output: PointeeSized; fn index(&self, i: I) -> &Self::Output; }
#[lang = "index_mut"] pub trait IndexMut<I>: Index<I> { fn index_mut(&mut self, i: I) -> &mut Self::Output; }
impl<T> Index<usize> for [T] { type Output = T; #[inline(always)] fn index(&self, i: usize) -> &T { &(*self)[i] } }
impl<T> IndexMut<usize> for [T] { #[inline(always)] fn index_mut(&mut self, i: usize) -> &mut T { &mut (*self)[i] } }
impl<T, const N: usize> Index<usize> for [T; N] {
    type Output = T;
    #[inline(always)] fn index(&self, i: usize) -> &T { &(*self)[i] }
}
impl<T, const N: usize> IndexMut<usize> for [T; N] {
    #[inline(always)] fn index_mut(&mut self, i: usize) -> &mut T { &mut (*self)[i] }
}

#[lang = "eq"] pub trait PartialEq<R: PointeeSized = Self>: PointeeSized { fn eq(&self, o: &R) -> bool; fn ne(&self, o: &R) -> bool; }
#[lang = "partial_ord"] pub trait PartialOrd<R: PointeeSized = Self>: PointeeSized {
    fn lt(&self, o: &R) -> bool; fn le(&self, o: &R) -> bool; fn gt(&self, o: &R) -> bool; fn ge(&self, o: &R) -> bool;
}
macro_rules! plain {
    ($($type:ty)*) => { $(
        impl Copy for $type {}
        impl PartialEq for $type { fn eq(&self, o: &$type) -> bool { *self == *o } fn ne(&self, o: &$type) -> bool { *self != *o } }
        impl PartialOrd for $type {
            fn lt(&self, o: &$type) -> bool { *self < *o } fn le(&self, o: &$type) -> bool { *self <= *o }
            fn gt(&self, o: &$type) -> bool { *self > *o } fn ge(&self, o: &$type) -> bool { *self >= *o }
        }
    )* };
}
plain!(u8 u32 i32 u64 usize isize f32 f64 bool);

#[rustc_intrinsic] pub const unsafe fn arith_offset<T>(dst: *const T, offset: isize) -> *const T;
#[rustc_intrinsic] pub const fn abort() -> !;

#[lang = "panic_location"] pub struct Location<'a> { file: &'a str, line: u32, column: u32 }
#[lang = "panic_bounds_check"] #[track_caller] #[inline(never)] fn panic_bounds_check(_index: usize, _length: usize) -> ! { abort() }
#[lang = "panic_const_div_by_zero"] #[track_caller] #[inline(never)] fn panic_div_by_zero() -> ! { abort() }
#[lang = "panic_const_rem_by_zero"] #[track_caller] #[inline(never)] fn panic_rem_by_zero() -> ! { abort() }
#[lang = "panic_const_div_overflow"] #[track_caller] #[inline(never)] fn panic_div_overflow() -> ! { abort() }
#[lang = "panic_const_rem_overflow"] #[track_caller] #[inline(never)] fn panic_rem_overflow() -> ! { abort() }

#[repr(C)] pub struct Parts<T> { data: *const T, length: usize }
impl<T> Copy for Parts<T> {}
union Slice<'a, T> { parts: Parts<T>, slice: &'a [T] }
/// A slice of a pointer and a length.
#[inline(always)] pub unsafe fn slice<'a, T>(data: *const T, length: usize) -> &'a [T] {
    unsafe { Slice { parts: Parts { data, length } }.slice }
}
/// Writes element `i`, unchecked.
#[inline(always)] pub unsafe fn put<T: Copy>(data: *mut T, i: usize, value: T) {
    unsafe { *(arith_offset(data as *const T, i as isize) as *mut T) = value }
}

unsafe extern "C" {
    #[link_name = "llvm.nvvm.read.ptx.sreg.tid.x"] fn tid() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.ctaid.x"] fn ctaid() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.ntid.x"] fn ntid() -> u32;
    #[link_name = "llvm.sqrt.f64"] pub fn sqrt(x: f64) -> f64;
    #[link_name = "llvm.fma.f32"] pub fn fma(a: f32, b: f32, c: f32) -> f32;
    #[link_name = "llvm.ctpop.i32"] pub fn popcount(x: u32) -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.bfly.i32"] pub fn shuffle_xor(mask: u32, value: u32, lanes: u32, clamp: u32) -> u32;
}
/// The thread's index in the grid.
#[inline(always)] pub fn thread() -> usize { unsafe { (ctaid() * ntid() + tid()) as usize } }
