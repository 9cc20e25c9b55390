import type { Pod } from "#kube/kinds.ts";
import type { StartFlags } from "./etcd.ts";
import { versionOf } from "./version.ts";

interface Template {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
  readonly spec?: Pod["spec"];
}

/** The environment that a pod gives to etcd; "" for a variable that is not set. */
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

/** Whether a pod with these flags can start with an empty volume: it forms a cluster, or joins one. */
export function canStartEmpty(flags: StartFlags): boolean {
  return flags.initialCluster.has(flags.name);
}
