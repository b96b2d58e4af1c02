/**
 * The way from an API server to Services, of which a machine without pods' network has none: all that it would send to
 * addresses of Services goes to one port of this machine. So a webhook configuration can name its Service, as in a
 * cluster, and the certificate has to be good for the Service's name.
 */
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { connect } from "node:net";
import path from "node:path";
import { type Cluster } from "../clusters/cluster.ts";
import { type CaseContext } from "../runner/runner.ts";

/** Starts the API server anew, with an egress selector that asks a proxy of ours. */
export async function routeServices(context: CaseContext, cluster: Cluster, port: number): Promise<void> {
  const server = createServer();
  server.on("connect", (_, client) => {
    const target = connect(port, "127.0.0.1", () => {
      client.write("HTTP/1.1 200 OK\r\n\r\n");
      target.pipe(client).pipe(target);
    });
    // Whichever end breaks, the other one hears of it.
    client.on("error", () => target.destroy());
    target.on("error", () => client.destroy());
  });
  const socket = path.join(context.directory, "egress");
  server.listen(socket);
  await once(server, "listening");
  context.cleanup(() => {
    server.close();
    server.closeAllConnections();
  });
  const file = path.join(cluster.directory, "egress.json");
  writeFileSync(file, JSON.stringify(selectorOf(socket)));
  cluster.setFurtherApiServerArgs([`--egress-selector-config-file=${file}`]);
  await cluster.restartApiServer();
}

function selectorOf(udsName: string): object {
  const connection = { proxyProtocol: "HTTPConnect", transport: { uds: { udsName } } };
  return {
    apiVersion: "apiserver.k8s.io/v1beta1",
    kind: "EgressSelectorConfiguration",
    egressSelections: [{ name: "cluster", connection }],
  };
}
