import assert from "node:assert/strict";
import { test } from "node:test";
import { ignoredFlags } from "../../../../src/config/flags/ignored.ts";

const accepts = (name: keyof typeof ignoredFlags, value: string): boolean => ignoredFlags[name].type.parse(value).ok;

test("a value that klog would refuse is refused", () => {
  for (const bad of ["x", "x=", "=1", "x=-1", "x=1=2", "x=y"]) assert(!accepts("klog-vmodule", bad), bad);
  for (const bad of ["", "NOTICE", "1.5"]) assert(!accepts("klog-stderrthreshold", bad), bad);
  for (const bad of ["main", "main.go", "main.go:", "main.go:0", "main.go:x", "main:1", "a.go:1:2"])
    assert(!accepts("klog-log-backtrace-at", bad), bad);
  for (const bad of ["-1", "1.5", ""]) assert(!accepts("klog-log-file-max-size", bad), bad);
});

test("the sampling rates of pprof are whole numbers, negative ones included", () => {
  for (const name of ["pprof-block-profile", "pprof-mutex-profile"] as const) {
    assert(accepts(name, "-1"));
    assert(!accepts(name, "0.5"));
  }
});
