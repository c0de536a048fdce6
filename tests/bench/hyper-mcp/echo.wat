;; The tool `echo` for hyper-mcp, which `cargo xtask bench` measures: a plugin for Extism in WebAssembly's text format.
(module
  (import "extism:host/env" "input_length" (func $input_length (result i64)))
  (import "extism:host/env" "input_load_u8" (func $input_load_u8 (param i64) (result i32)))
  (import "extism:host/env" "input_load_u64" (func $input_load_u64 (param i64) (result i64)))
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "store_u8" (func $store_u8 (param i64 i32)))
  (import "extism:host/env" "store_u64" (func $store_u64 (param i64 i64)))
  (import "extism:host/env" "output_set" (func $output_set (param i64 i64)))
  (memory (export "memory") 8)
  (data (i32.const 16) "{\"tools\":[{\"name\":\"echo\",\"description\":\"Says it again.\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\"}},\"required\":[\"text\"]}}]}")
  (data (i32.const 1024) "{\"content\":[{\"type\":\"text\",\"text\":\"")
  (data (i32.const 1280) "\"}]}")
  ;; The key of the argument, which is the only one in a call.
  (global $key i64 (i64.const 0x223a227478657422))

  ;; Copies bytes to the output at an offset; returns the offset after them.
  (func $put (param $to i64) (param $from i32) (param $length i32) (result i64)
    (block $done
      (loop $words
        (br_if $done (i32.lt_u (local.get $length) (i32.const 8)))
        (call $store_u64 (local.get $to) (i64.load (local.get $from)))
        (local.set $to (i64.add (local.get $to) (i64.const 8)))
        (local.set $from (i32.add (local.get $from) (i32.const 8)))
        (local.set $length (i32.sub (local.get $length) (i32.const 8)))
        (br $words)))
    (block $done
      (loop $bytes
        (br_if $done (i32.eqz (local.get $length)))
        (call $store_u8 (local.get $to) (i32.load8_u (local.get $from)))
        (local.set $to (i64.add (local.get $to) (i64.const 1)))
        (local.set $from (i32.add (local.get $from) (i32.const 1)))
        (local.set $length (i32.sub (local.get $length) (i32.const 1)))
        (br $bytes)))
    (local.get $to))

  (func (export "describe") (result i32)
    (local $out i64)
    (local.set $out (call $alloc (i64.const 150)))
    (drop (call $put (local.get $out) (i32.const 16) (i32.const 150)))
    (call $output_set (local.get $out) (i64.const 150))
    (i32.const 0))

  (func (export "call") (result i32)
    (local $length i32) (local $at i32) (local $end i32) (local $out i64) (local $total i64)
    (local.set $length (i32.wrap_i64 (call $input_length)))
    ;; The input, from 65536 on.
    (loop $words
      (if (i32.le_u (i32.add (local.get $at) (i32.const 8)) (local.get $length))
        (then
          (i64.store (i32.add (i32.const 65536) (local.get $at)) (call $input_load_u64 (i64.extend_i32_u (local.get $at))))
          (local.set $at (i32.add (local.get $at) (i32.const 8)))
          (br $words))))
    (loop $bytes
      (if (i32.lt_u (local.get $at) (local.get $length))
        (then
          (i32.store8 (i32.add (i32.const 65536) (local.get $at)) (call $input_load_u8 (i64.extend_i32_u (local.get $at))))
          (local.set $at (i32.add (local.get $at) (i32.const 1)))
          (br $bytes))))
    ;; The start of the text, and its end: a quote that isn't escaped.
    (local.set $at (i32.const 65536))
    (loop $search
      (if (i64.ne (i64.load (local.get $at)) (global.get $key))
        (then
          (local.set $at (i32.add (local.get $at) (i32.const 1)))
          (br $search))))
    (local.set $at (i32.add (local.get $at) (i32.const 8)))
    (local.set $end (local.get $at))
    (loop $search
      (if (i32.eq (i32.load8_u (local.get $end)) (i32.const 92))
        (then
          (local.set $end (i32.add (local.get $end) (i32.const 2)))
          (br $search)))
      (if (i32.ne (i32.load8_u (local.get $end)) (i32.const 34))
        (then
          (local.set $end (i32.add (local.get $end) (i32.const 1)))
          (br $search))))
    (local.set $length (i32.sub (local.get $end) (local.get $at)))
    (local.set $total (i64.extend_i32_u (i32.add (local.get $length) (i32.const 39))))
    (local.set $out (call $alloc (local.get $total)))
    (drop (call $put
      (call $put
        (call $put (local.get $out) (i32.const 1024) (i32.const 35))
        (local.get $at) (local.get $length))
      (i32.const 1280) (i32.const 4)))
    (call $output_set (local.get $out) (local.get $total))
    (i32.const 0)))
