// SPDX-License-Identifier: BSD-2-Clause

// A Go program that calls libibverbs through cgo. Each adapter registers memory of C's: Go may move its own.
//
//	go build devices.go
//	verbena run -- ./devices
package main

// #cgo LDFLAGS: -libverbs
// #include <stdlib.h>
// #include <infiniband/verbs.h>
// static struct ibv_mr *reg(struct ibv_pd *pd, void *addr, size_t length) { return ibv_reg_mr(pd, addr, length, IBV_ACCESS_LOCAL_WRITE); }
import "C"

import (
	"fmt"
	"log"
	"unsafe"
)

func register(device *C.struct_ibv_device) {
	name := C.GoString(C.ibv_get_device_name(device))
	context, err := C.ibv_open_device(device)
	if context == nil {
		log.Fatalf("%s: %v", name, err)
	}
	defer C.ibv_close_device(context)
	pd := C.ibv_alloc_pd(context)
	defer C.ibv_dealloc_pd(pd)
	memory := C.malloc(4096)
	defer C.free(memory)
	mr, err := C.reg(pd, memory, 4096)
	if mr == nil {
		log.Fatalf("%s: %v", name, err)
	}
	defer C.ibv_dereg_mr(mr)
	fmt.Printf("%s: %d bytes registered\n", name, mr.length)
}

func main() {
	var count C.int
	list := C.ibv_get_device_list(&count)
	for _, device := range unsafe.Slice(list, count) {
		register(device)
	}
	C.ibv_free_device_list(list)
}
