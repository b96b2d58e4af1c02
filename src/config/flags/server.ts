/** The flags of a pair of listeners, HTTP and HTTPS; upstream's names. */
import { bindAddressProblem } from "../types/address.ts";
import { flag, type FlagSpec } from "../flag.ts";
import { bool, durationMs, port, text } from "../types/scalar-types.ts";

const address = text("ADDRESS", {
  allowed: "an IP address, a host name, or empty for all addresses",
  problemOf: bindAddressProblem,
});
const bindHelp = "address to listen on. On a host without IPv6, ::1 means 127.0.0.1 and :: means 0.0.0.0.";

/** `what` names the server in the help: "the health server". */
export function serverFlags(
  what: string,
  ports: { readonly http: number; readonly https: number },
  {
    httpHelp = "",
    isOn = true,
    ...http
  }: { readonly httpHelp?: string; readonly isOn?: boolean } & Pick<FlagSpec<boolean>, "defaultBy"> = {},
) {
  return {
    enable: flag(bool(), isOn, `Serve ${what} over HTTP.${httpHelp}`, http),
    "bind-addr": flag(address, "::1", `HTTP ${bindHelp}`),
    port: flag(port(), ports.http, "HTTP port to listen on; 0 picks a free port."),
    "https-enable": flag(bool(), false, `Serve ${what} over HTTPS.`),
    "https-bind-addr": flag(address, "::1", `HTTPS ${bindHelp}`),
    "https-port": flag(port(), ports.https, "HTTPS port to listen on; 0 picks a free port."),
    "https-cert-file": flag(text("PATH"), "", "PEM file with the certificate chain; reloaded when it changes."),
    "https-key-file": flag(text("PATH"), "", "PEM file with the private key; reloaded when it changes."),
    "read-header-timeout": flag(
      durationMs({ min: "zero" }),
      10_000,
      "Maximum time to read the header of a request; 0 means no limit.",
    ),
  };
}
