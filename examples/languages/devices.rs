// SPDX-License-Identifier: BSD-2-Clause
// A Rust program that calls libibverbs by declarations of its own, as crates made by bindgen do. Each adapter registers
// memory of a Vec.
//
//	rustc devices.rs -l ibverbs
//	verbena run -- ./devices
use std::ffi::{c_void, CStr};
use std::os::raw::{c_char, c_int};

#[repr(C)]
pub struct Device([u8; 0]);
#[repr(C)]
pub struct Context([u8; 0]);
#[repr(C)]
pub struct Pd([u8; 0]);
#[repr(C)]
pub struct Mr {
    context: *mut Context,
    pd: *mut Pd,
    addr: *mut c_void,
    length: usize,
    handle: u32,
    lkey: u32,
    rkey: u32,
}

extern "C" {
    fn ibv_get_device_list(count: *mut c_int) -> *mut *mut Device;
    fn ibv_free_device_list(list: *mut *mut Device);
    fn ibv_get_device_name(device: *mut Device) -> *const c_char;
    fn ibv_open_device(device: *mut Device) -> *mut Context;
    fn ibv_close_device(context: *mut Context) -> c_int;
    fn ibv_alloc_pd(context: *mut Context) -> *mut Pd;
    fn ibv_dealloc_pd(pd: *mut Pd) -> c_int;
    fn ibv_reg_mr(pd: *mut Pd, addr: *mut c_void, length: usize, access: c_int) -> *mut Mr;
    fn ibv_dereg_mr(mr: *mut Mr) -> c_int;
}

const LOCAL_WRITE: c_int = 1;

unsafe fn register(device: *mut Device) -> Result<(), std::io::Error> {
    let name = CStr::from_ptr(ibv_get_device_name(device)).to_string_lossy();
    let mut memory = vec![0u8; 4096];
    let context = ibv_open_device(device);
    if context.is_null() {
        return Err(std::io::Error::last_os_error());
    }
    let pd = ibv_alloc_pd(context);
    let mr = ibv_reg_mr(pd, memory.as_mut_ptr() as *mut c_void, memory.len(), LOCAL_WRITE);
    if mr.is_null() {
        return Err(std::io::Error::last_os_error());
    }
    println!("{}: {} bytes of a Vec registered", name, (*mr).length);
    assert_eq!((ibv_dereg_mr(mr), ibv_dealloc_pd(pd), ibv_close_device(context)), (0, 0, 0));
    Ok(())
}

fn main() -> Result<(), std::io::Error> {
    let mut count = 0;
    unsafe {
        let list = ibv_get_device_list(&mut count);
        for i in 0..count as usize {
            register(*list.add(i))?;
        }
        ibv_free_device_list(list);
    }
    Ok(())
}
