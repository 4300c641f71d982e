/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A guest of one sector, in real mode. Round by round it adds 1 to every word of 256 KiB, which have to be
 * alike, and writes a letter to the first serial port: the next of the alphabet, or '!' when a word
 * differs.
 */
	.code16
	.globl	_start
_start:
	cli
	cld
	xorw	%bx, %bx		/* rounds: what every word has to be */
	movw	$0x1000, %ax
	call	clear
round:
	movw	$0x1000, %ax
segment:
	movw	%ax, %es
	xorw	%di, %di
word:
	cmpw	%bx, %es:(%di)
	jne	differs
	incw	%es:(%di)
	addw	$2, %di
	jnz	word
	addw	$0x1000, %ax
	cmpw	$0x5000, %ax
	jne	segment
	movw	%bx, %ax
	xorw	%dx, %dx
	movw	$26, %cx
	divw	%cx
	movb	%dl, %al
	addb	$'A', %al
	call	put
	incw	%bx
	jmp	round
differs:
	movb	$'!', %al
	call	put
	jmp	differs

clear:
	movw	%ax, %es
	xorw	%di, %di
	movw	$0x8000, %cx
	pushw	%ax
	xorw	%ax, %ax
	rep stosw
	popw	%ax
	addw	$0x1000, %ax
	cmpw	$0x5000, %ax
	jne	clear
	ret

put:
	movw	$0x3f8, %dx
	outb	%al, %dx
	ret

	.org	510
	.word	0xaa55
