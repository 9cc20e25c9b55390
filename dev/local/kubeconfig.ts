import { readFileSync, writeFileSync } from "node:fs";
import { stringify } from "yaml";
import { type Leaf, pkiFile } from "./certificates.ts";
import type { Instance } from "./instance.ts";

/**
 * Writes a kubeconfig that contains its certificates, so that it can be copied elsewhere.
 * @param server URL of the API server
 */
export function writeKubeconfig(instance: Instance, file: string, leaf: Leaf, server: string): void {
  const encoded = (name: string) => readFileSync(pkiFile(instance, name)).toString("base64");
  const name = `local-${instance.name}`;
  const kubeconfig = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name, cluster: { server, "certificate-authority-data": encoded("ca.crt") } }],
    users: [
      {
        name: leaf.commonName,
        user: {
          "client-certificate-data": encoded(`${leaf.name}.crt`),
          "client-key-data": encoded(`${leaf.name}.key`),
        },
      },
    ],
    contexts: [{ name, context: { cluster: name, user: leaf.commonName } }],
    "current-context": name,
  };
  writeFileSync(file, stringify(kubeconfig), { mode: 0o600 });
}
