/* SPDX-License-Identifier: MIT */
/*
 * Symbols of a kernel that the module's objects need, for tests that run them in a process:
 * functions that the compiler calls, which do nothing here, and the stack protector's value.
 */
	.text
	.globl __fentry__, __x86_return_thunk
__fentry__:
__x86_return_thunk:
	ret

	.irp	register, rax, rbx, rcx, rdx, rsi, rdi, rbp, r8, r9, r10, r11, r12, r13, r14, r15
	.globl	__x86_indirect_thunk_\register
__x86_indirect_thunk_\register:
	jmp	*%\register
	.endr

	.globl __fortify_panic
__fortify_panic:
	ud2

/* Before main(): arch_prctl(ARCH_SET_GS, guard). */
set_guard:
	mov	$158, %eax
	mov	$0x1001, %edi
	lea	guard(%rip), %rsi
	syscall
	ret

	.section .init_array, "aw"
	.quad	set_guard

	.bss
	.balign	64
guard:
	.skip	64

	.section .note.GNU-stack, "", @progbits
