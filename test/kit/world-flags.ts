import type { Pod } from "#kube/kinds.ts";
import type { StartFlags } from "./world-etcd.ts";
import { versionOf } from "./world-version.ts";

interface Template {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
  readonly spec?: Pod["spec"];
}

/** The environment that a pod gives to etcd; empty text for what it does not say. */
export function variablesOf(pod: Template): (name: string) => string {
  const annotated = (path: string | undefined) => pod.metadata.annotations?.[/\['(.*)'\]/.exec(path ?? "")?.[1] ?? ""];
  const container = pod.spec?.containers?.find(({ name }) => name === "etcd");
  const environment = new Map(
    container?.env?.map(({ name, value, valueFrom }) => [
      name,
      value ?? annotated(valueFrom?.fieldRef?.fieldPath) ?? "",
    ]),
  );
  return (name) => environment.get(name) ?? "";
}

/** The start flags that a pod's environment gives to etcd. */
export function flagsOf(pod: Template): StartFlags {
  const get = variablesOf(pod);
  const list = get("ETCD_INITIAL_CLUSTER")
    .split(",")
    .filter((part) => part.includes("="));
  return {
    name: get("ETCD_NAME"),
    peerUrl: get("ETCD_INITIAL_ADVERTISE_PEER_URLS"),
    initialCluster: new Map(list.map((part) => part.split("=") as [string, string])),
    isNew: get("ETCD_INITIAL_CLUSTER_STATE") === "new",
    token: get("ETCD_INITIAL_CLUSTER_TOKEN"),
    version: versionOf(pod.spec?.containers?.find(({ name }) => name === "etcd")?.image),
  };
}

/** Whether a pod with these flags can start when its volume is empty: by forming a cluster, or by joining one. */
export function canStartEmpty(flags: StartFlags): boolean {
  return flags.initialCluster.has(flags.name);
}
