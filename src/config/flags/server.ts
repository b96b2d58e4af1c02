/** The flags of a pair of HTTP and HTTPS listeners; upstream's names. */
import { bindAddressProblem } from "../address.ts";
import { flag } from "../flag.ts";
import { bool, durationMs, port, text } from "../scalar-types.ts";

const address = text("ADDRESS", {
  allowed: "an IP address, a host name, or nothing for all addresses",
  problemOf: bindAddressProblem,
});
const bindHelp = "Address that it listens on. Where the host has no IPv6, ::1 means 127.0.0.1 and :: means 0.0.0.0.";

/** `what` names the server in the help: "the health server". */
export function serverFlags(
  what: string,
  ports: { readonly http: number; readonly https: number },
  httpEnabled = true,
) {
  return {
    enable: flag(bool(), httpEnabled, `Serve ${what} over HTTP.`),
    "bind-addr": flag(address, "::1", `HTTP: ${bindHelp}`),
    port: flag(port(), ports.http, "HTTP port; 0 lets the system choose."),
    "https-enable": flag(bool(), false, `Serve ${what} over HTTPS.`),
    "https-bind-addr": flag(address, "::1", `HTTPS: ${bindHelp}`),
    "https-port": flag(port(), ports.https, "HTTPS port; 0 lets the system choose."),
    "https-cert-file": flag(text("PATH"), "", "PEM file of the certificate chain; read again when it changes."),
    "https-key-file": flag(text("PATH"), "", "PEM file of the private key; read again when it changes."),
    "read-header-timeout": flag(
      durationMs({ min: "zero" }),
      10_000,
      "Longest time to receive the header of a request; 0 means no limit.",
    ),
  };
}
