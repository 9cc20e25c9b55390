import pc from "picocolors";
import { columns } from "#base/columns.ts";
import { isAlive } from "../proc.ts";
import { seconds } from "../progress.ts";
import { apiServerUrl } from "./addresses.ts";
import { type Instance, nodesOf } from "./instance.ts";
import { isThere } from "./network.ts";
import { listImages, nodeProcesses } from "./node.ts";
import { partitioned } from "./partition.ts";
import { tableOf } from "./processes.ts";

/** Status of an instance, as lines for people. */
export async function statusLines(instance: Instance, nowMs: number): Promise<string[]> {
  const table = tableOf(instance);
  const known = new Map(table.all().map((component) => [component.name, component]));
  const cutOff = isThere(instance) ? await partitioned(instance) : [];
  const onNodes = nodesOf(instance).flatMap((node) => nodeProcesses(node));
  const names = [...CENTRAL, ...onNodes];
  const rows = names.map((name) => {
    const component = known.get(name);
    if (component === undefined) return [name, "-", "-", pc.yellow("stopped")];
    if (!isAlive(component)) return [name, "-", "-", pc.red("died")];
    return [name, String(component.pid), seconds(nowMs - component.startedAt), pc.green("running")];
  });
  const images = await Promise.all(
    nodesOf(instance).map(async (node) => {
      const count = (await listImages(table, node)).length;
      const link = cutOff.includes(node) ? `, ${pc.red("cut off by a partition")}` : "";
      return `node-${node}: ${count} images${link}`;
    }),
  );
  return [
    ...columns([["COMPONENT", "PID", "UP", "STATE"], ...rows]),
    "",
    ...images,
    "",
    `API server  ${apiServerUrl(instance.link.insideAddress)}`,
    `kubeconfig  ${instance.kubeconfig}`,
    `logs        ${instance.logs}`,
  ];
}

const CENTRAL = [
  "etcd",
  "kube-apiserver",
  "kube-controller-manager",
  "kube-scheduler",
  "kube-proxy",
  "coredns",
  "provisioner",
];
