import sys, numpy as np, time
from pathlib import Path
from teenycuda_cli.driver.registry import open_device
from teenycuda_cli.driver.device import LaunchConfig
from teenycuda_cli.driver.image import image_of
out=Path(sys.argv[1]); N=int(sys.argv[3]) if len(sys.argv)>3 else 23
H=".version 9.0\n.target sm_90\n.address_size 64\n"
def ptx(op,w):
    return f"""{H}.visible .entry k(.param .u64 i, .param .u64 o) {{ .reg .b32 a,b,c; .reg .b64 p,q; .reg .b{w} x,y;
mov.u32 a,%ctaid.x; mov.u32 b,%ntid.x; mov.u32 c,%tid.x; mad.lo.u32 a,a,b,c;
ld.param.u64 p,[i]; ld.param.u64 q,[o]; cvta.to.global.u64 p,p; cvta.to.global.u64 q,q;
mad.wide.u32 p,a,{w//8},p; mad.wide.u32 q,a,{w//8},q; ld.global.b{w} x,[p]; {op} y,x; st.global.b{w} [q],y; ret; }}
"""
def go(dev,op,bits):
    w=bits.dtype.itemsize*8; n=len(bits)
    with dev.load(image_of(ptx(op,w).encode(),"m")) as m:
        a=dev.allocate(bits.nbytes,"a"); b=dev.allocate(bits.nbytes,"b")
        dev.write(a.address,bits.tobytes())
        m.function("k").launch(LaunchConfig((n//256,1,1),(256,1,1),None,0,(a.address.to_bytes(8,"little"),b.address.to_bytes(8,"little"))))
        r=np.frombuffer(dev.read(b.address,bits.nbytes),bits.dtype).copy()
        dev.free(a); dev.free(b)
    return r
def delta(r,bits,f):
    with np.errstate(all="ignore"): ref=f(bits.view(np.float32).astype(np.float64)).astype(np.float32)
    o=lambda z: np.where(z.view(np.int32)<0, -(z.view(np.int32)&0x7fffffff), z.view(np.int32)).astype(np.int64)
    return np.clip(o(r.view(np.float32))-o(ref),-127,127).astype(np.int8)
M=1<<N
rng=lambda s,n,st=1: (np.arange(n,dtype=np.uint32)*np.uint32(st)+np.uint32(s))
t=time.time()
with open_device(sys.argv[2]) as dev:
    A={}
    x=rng(0x3f800000,M); A["rcp"]=delta(go(dev,"rcp.approx.ftz.f32",x),x,lambda v:1/v)
    x=rng(0x3f800000,2*M); A["rsqrt"]=delta(go(dev,"rsqrt.approx.ftz.f32",x),x,lambda v:1/np.sqrt(v)); A["sqrt"]=delta(go(dev,"sqrt.approx.ftz.f32",x),x,np.sqrt)
    h=(np.arange(1<<20,dtype=np.uint64)|np.uint64(0x3ff00000))<<np.uint64(32); A["rcp64"]=(go(dev,"rcp.approx.ftz.f64",h)>>np.uint64(32)).astype(np.uint32)
    h=(np.arange(1<<21,dtype=np.uint64)+np.uint64(0x3ff00000))<<np.uint64(32); A["rsqrt64"]=(go(dev,"rsqrt.approx.ftz.f64",h)>>np.uint64(32)).astype(np.uint32)
    np.savez_compressed(out/"mufu_a.npz",**A); print("a",time.time()-t)
    B={}
    x=rng(0x3f000000,2*M); B["lg2"]=delta(go(dev,"lg2.approx.ftz.f32",x),x,np.log2)
    x=rng(0x3f000000,2*M); B["ex2"]=delta(go(dev,"ex2.approx.ftz.f32",x),x,np.exp2)
    np.savez_compressed(out/"mufu_b.npz",**B); print("b",time.time()-t)
    S=max(M>>2,256)
    for f in ("sin","cos"):
        # steps of 32 over [1/2, 8): 4 binades of 2^23 -> 2^20 each; then signs and tiny are in the suite
        x=rng(0x3f000000,max(4*M>>4,256),16)
        np.savez_compressed(out/f"{f}.npz",r=go(dev,f+".approx.ftz.f32",x)); print(f,time.time()-t)
    x=rng(0x39800000,max(18*M>>7,256),128) # 2^-12 .. 2^6
    np.savez_compressed(out/"tanh.npz",r=go(dev,"tanh.approx.f32",x)); print("tanh",time.time()-t)
