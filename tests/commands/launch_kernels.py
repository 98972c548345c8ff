"""Small kernels, written by hand, that the launch tests run."""

from __future__ import annotations

HEADER = ".version 8.0\n.target sm_80\n.address_size 64\n"

# y[i] = a * x[i] for i < n
SCALE = """
.visible .entry scale(.param .u64 x, .param .u64 y, .param .f32 a, .param .u32 n)
{
    .reg .pred %p; .reg .b32 %r<6>; .reg .f32 %f<4>; .reg .b64 %d<6>;
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r1, %r2, %r3;
    ld.param.u32 %r5, [n];
    setp.ge.s32 %p, %r4, %r5;
    @%p bra DONE;
    ld.param.u64 %d1, [x]; ld.param.u64 %d2, [y]; ld.param.f32 %f1, [a];
    mul.wide.s32 %d3, %r4, 4;
    add.s64 %d4, %d1, %d3; add.s64 %d5, %d2, %d3;
    ld.global.f32 %f2, [%d4];
    mul.f32 %f3, %f2, %f1;
    st.global.f32 [%d5], %f3;
DONE:
    ret;
}
"""

# out[0..] = the bytes of every parameter, as the kernel sees them
ECHO = """
.visible .entry echo(.param .u64 .ptr .global .align 8 out, .param .u8 b, .param .u16 h, .param .u32 w,
    .param .u64 d, .param .f32 f, .param .f64 g, .param .align 2 .b8 half[2], .param .align 4 .b8 s[12])
{
    .reg .b16 %h<4>; .reg .b32 %r<6>; .reg .f32 %f; .reg .f64 %g; .reg .b64 %d<3>;
    ld.param.u64 %d1, [out];
    ld.param.u8 %h1, [b]; st.global.u8 [%d1], %h1;
    ld.param.u16 %h2, [h]; st.global.u16 [%d1+2], %h2;
    ld.param.u32 %r1, [w]; st.global.u32 [%d1+4], %r1;
    ld.param.u64 %d2, [d]; st.global.u64 [%d1+8], %d2;
    ld.param.f32 %f, [f]; st.global.f32 [%d1+16], %f;
    ld.param.f64 %g, [g]; st.global.f64 [%d1+24], %g;
    ld.param.b16 %h3, [half]; st.global.b16 [%d1+32], %h3;
    ld.param.b32 %r2, [s]; ld.param.b32 %r3, [s+4]; ld.param.b32 %r4, [s+8];
    st.global.b32 [%d1+36], %r2; st.global.b32 [%d1+40], %r3; st.global.b32 [%d1+44], %r4;
    ret;
}
"""

# p[tid + shift] = value, with no bound at all
STORE = """
.visible .entry store(.param .u64 p, .param .s32 shift, .param .u32 value)
{
    .reg .b32 %r<5>; .reg .b64 %d<4>;
    ld.param.u64 %d1, [p]; ld.param.u32 %r1, [shift]; ld.param.u32 %r2, [value];
    mov.u32 %r3, %tid.x;
    add.s32 %r4, %r3, %r1;
    mul.wide.s32 %d2, %r4, 4;
    add.s64 %d3, %d1, %d2;
    st.global.u32 [%d3], %r2;
    ret;
}
"""

SPIN = """
.visible .entry spin()
{
AGAIN:
    bra AGAIN;
}
"""

TRAP = """
.visible .entry stop()
{
    trap;
}
"""

EXACT = """
.visible .entry exact() .reqntid 32, 2
{
    ret;
}
"""

BOUND = """
.visible .entry bound() .maxntid 64
{
    ret;
}
"""

DYNAMIC = """
.extern .shared .align 16 .b8 buffer[];
.visible .entry dynamic()
{
    .shared .align 4 .b8 own[1024];
    .reg .b32 %r;
    mov.u32 %r, own;
    st.shared.u32 [%r], 0;
    mov.u32 %r, buffer;
    ret;
}
"""

# As Triton writes it: out[0] = global scratch [block], two hidden pointers
HIDDEN = """
.visible .entry hidden(.param .u64 .ptr .global .align 1 hidden_param_0, .param .u32 hidden_param_1,
    .param .u64 .ptr .global .align 1 hidden_param_2, .param .u64 .ptr .global .align 1 hidden_param_3)
.reqntid 32
{
    .reg .b32 %r<4>; .reg .b64 %d<6>;
    ld.param.u64 %d1, [hidden_param_0]; ld.param.u64 %d2, [hidden_param_2];
    mov.u32 %r1, %ctaid.x;
    mul.wide.u32 %d3, %r1, 64;
    add.s64 %d4, %d2, %d3;
    ld.global.u32 %r2, [%d4];
    mul.wide.u32 %d3, %r1, 4;
    add.s64 %d5, %d1, %d3;
    st.global.u32 [%d5], %r2;
    st.global.u32 [%d4], 7;
    ret;
}
// meta:name=hidden
// meta:num_warps=1
// meta:global_scratch_size=64
// meta:global_scratch_align=128
// meta:profile_scratch_size=0
"""
