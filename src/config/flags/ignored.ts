/**
 * The flags of upstream that have no effect here. They are accepted, so that its arguments start; their values are
 * checked, so that a mistake is still found. Source of names, types and defaults: `--help` of upstream, and of klog.
 */
import { flag, inGroup, prefixed, roles, withoutEffect } from "../flag.ts";
import { bool, durationMs, int, int32Max, text } from "../types/scalar-types.ts";
import { type ValueType } from "../types/value-type.ts";

const title = "Without effect";

/** klog's severities; numbers count from INFO = 0. */
const severity: ValueType<string> = {
  ...text("SEVERITY", {
    allowed: "INFO, WARNING, ERROR, FATAL or a number",
    problemOf: (value) =>
      /^(info|warning|error|fatal|[+-]?\d{1,9})$/i.test(value) ? undefined : "is not a severity of klog",
  }),
  kind: "severity",
};

/** klog's verbosity of single files; empty parts, as after a trailing comma, are skipped. */
const filePatterns: ValueType<string> = {
  ...text("PATTERN=N,...", {
    allowed: "a comma-separated list of PATTERN=N such as controller=4,web*=2",
    problemOf: (value) =>
      /^([^=,]+=\d{1,9})?(,([^=,]+=\d{1,9})?)*$/.test(value) ? undefined : "is not a list of PATTERN=N",
  }),
  kind: "moduleSpec",
};

const sourceLine: ValueType<string> = {
  ...text("FILE:N", {
    allowed: "empty, or a line such as main.go:12",
    problemOf: (value) =>
      /^$|^[^:.]*\.[^:]*:[1-9]\d{0,8}$/.test(value) ? undefined : "is not a line of a source file",
  }),
  kind: "traceLocation",
};

/** The longest whole number that the flag's type reads. */
const megabytesMax = 999_999_999_999_999;
const samplingRate = int({ min: -int32Max, max: int32Max });

export const ignoredFlags = {
  ...inGroup(
    { title, roles },
    {
      ...withoutEffect(
        "The program has one thread: nothing in it blocks on another one.",
        prefixed("pprof-", {
          "block-profile": flag(samplingRate, 0, "Sampling rate of blocking."),
          "mutex-profile": flag(samplingRate, 0, "Sampling rate of lock contention."),
        }),
      ),
      ...withoutEffect(
        "All log lines go to stderr, in one form.",
        prefixed("klog-", {
          vmodule: flag(filePatterns, "", "Verbosity of single source files."),
          logtostderr: flag(bool(), true, "Log to stderr instead of files."),
          alsologtostderr: flag(bool(), false, "Log to stderr as well as to files."),
          alsologtostderrthreshold: flag(severity, "0", "Lowest severity that also goes to stderr."),
          stderrthreshold: flag(severity, "2", "Lowest severity that goes to stderr beside files."),
          "legacy-stderr-threshold-behavior": flag(bool(), true, "Log all to stderr if there are no files."),
          "log-dir": flag(text("PATH"), "", "Directory of log files."),
          "log-file": flag(text("PATH"), "", "Log file."),
          "log-file-max-size": flag(int({ min: 0, max: megabytesMax }, "uint64"), 1800, "Size of a log file in MB."),
          "log-backtrace-at": flag(sourceLine, "", "Source line whose log lines get a stack trace."),
          "add-dir-header": flag(bool(), false, "Write directories of source files into log lines."),
          "skip-headers": flag(bool(), false, "Write no header before log lines."),
          "skip-log-headers": flag(bool(), false, "Write no header into log files."),
          "one-output": flag(bool(), false, "Write each line only to the file of its severity."),
        }),
      ),
    },
  ),
  ...inGroup(
    { title, roles: ["aggregator"] },
    withoutEffect("Cached pods are not resynced: counts follow the watch.", {
      "aggregator-pod-relist-period": flag(durationMs({ min: "zero" }), 0, "Period of the resync of cached pods."),
    }),
  ),
};
