import { existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "../run.ts";
import { DNS_ADDRESS, MAX_NODES, nodeAddresses, SERVICE_NETWORK } from "./addresses.ts";
import type { Instance } from "./instance.ts";
import { currentMounts } from "./mounts.ts";

/** Name of the link's end inside the namespace. */
const INSIDE_DEVICE = "host0";

/** Makes missing parts of the instance's network. The host gets one link with a /30, and no other change. */
export async function ensureNetwork(instance: Instance, nodes: number): Promise<void> {
  mkdirSync(instance.runFolder, { recursive: true });
  if (!isThere(instance)) {
    if (!existsSync(instance.networkFile)) writeFileSync(instance.networkFile, "");
    // The mount keeps the namespace alive without a process in it. `ip netns add` would do so, too, but would leave its
    // own mount on /run/netns behind for ever.
    await run("unshare", [`--net=${instance.networkFile}`, "true"]);
  }
  await ensureLink(instance);
  await runInside(instance, ["sh", "-e"], insideScript(instance, nodes));
  await runInside(instance, ["nft", "-f", "-"], hairpinRules(nodes));
}

/** Whether the namespace exists. */
export function isThere(instance: Instance): boolean {
  return currentMounts().some((mount) => mount.point === instance.networkFile);
}

/** Inode number of the namespace, as in /proc. */
export function networkInode(instance: Instance): number {
  return statSync(instance.networkFile).ino;
}

async function ensureLink(instance: Instance): Promise<void> {
  const { hostDevice, hostAddress } = instance.link;
  const found = await run("ip", ["link", "show", hostDevice], { mayFail: true });
  if (found.code !== 0) {
    const peer = ["peer", "name", INSIDE_DEVICE, "netns", instance.networkFile];
    await run("ip", ["link", "add", hostDevice, "type", "veth", ...peer]);
  }
  await run("ip", ["address", "replace", `${hostAddress}/30`, "dev", hostDevice]);
  await run("ip", ["link", "set", hostDevice, "up"]);
}

/** Shell commands that bring the network inside the namespace from any state to the wanted one. */
function insideScript(instance: Instance, nodes: number): string {
  const local = [DNS_ADDRESS];
  for (let node = 1; node <= MAX_NODES; node++) local.push(nodeAddresses(node).address, nodeAddresses(node).apiAddress);
  const lines = [
    "ip link set lo up",
    ...local.map((address) => `ip address replace ${address}/32 dev lo`),
    `ip address replace ${instance.link.insideAddress}/30 dev ${INSIDE_DEVICE}`,
    `ip link set ${INSIDE_DEVICE} up`,
    // Without a default route nothing leaves the namespace. A cluster IP still needs a route, although kube-proxy
    // rewrites the destination before the packet is routed.
    `ip route replace ${SERVICE_NETWORK} dev lo src ${instance.link.insideAddress}`,
    "echo 1 > /proc/sys/net/ipv4/ip_forward",
    // For pods of one node that call each other through a Service. Otherwise the answer passes the bridge directly, and
    // no rule rewrites its source.
    "[ ! -e /proc/sys/net/bridge/bridge-nf-call-iptables ] || echo 1 > /proc/sys/net/bridge/bridge-nf-call-iptables",
  ];
  for (let node = 1; node <= nodes; node++) {
    const { bridge, gateway, gatewayMac } = nodeAddresses(node);
    lines.push(
      `ip link show ${bridge} >/dev/null 2>&1 || ip link add ${bridge} type bridge`,
      // A fixed MAC address: by default a bridge takes the lowest of its ports' addresses. That changes when pods start
      // and end, and the node's other pods then send to the old address for up to a minute.
      `ip link set ${bridge} address ${gatewayMac}`,
      `ip address replace ${gateway}/24 dev ${bridge}`,
      `ip link set ${bridge} up`,
    );
  }
  return `${lines.join("\n")}\n`;
}

/**
 * Commands of nft that let a pod reach itself through a Service: packets get another source address, as a pod drops
 * those from its own. A kube-proxy has such a rule only for pods of its own node, and here one serves all nodes.
 */
export function hairpinRules(nodes: number): string {
  const pods = Array.from({ length: nodes }, (_, index) => podAddresses(index + 1)).flat();
  return `table ip hairpin
delete table ip hairpin
table ip hairpin {
  set themselves {
    type ipv4_addr . ipv4_addr
    elements = { ${pods.map((address) => `${address} . ${address}`).join(", ")} }
  }
  chain postrouting {
    type nat hook postrouting priority srcnat;
    ct status dnat ip saddr . ip daddr @themselves masquerade
  }
}
`;
}

/** Addresses that pods of the node may have. */
function podAddresses(node: number): string[] {
  const { gateway, podNetwork } = nodeAddresses(node);
  const prefix = podNetwork.slice(0, podNetwork.lastIndexOf(".") + 1);
  return Array.from({ length: 254 }, (_, index) => `${prefix}${index + 1}`).filter((address) => address !== gateway);
}

/** Removes the link at once. The namespace itself ends with its mount and its last process. */
export async function removeLink(hostDevice: string): Promise<void> {
  await run("ip", ["link", "delete", hostDevice], { mayFail: true });
}

/** Arguments that run a program inside the namespace, in the same process without a parent. */
export function inside(instance: Instance, argv: readonly string[]): string[] {
  return ["nsenter", `--net=${instance.networkFile}`, "--", ...argv];
}

export async function runInside(instance: Instance, argv: readonly string[], input?: string): Promise<string> {
  const [program = "", ...args] = inside(instance, argv);
  return (await run(program, args, input === undefined ? {} : { input })).stdout;
}

/** Path of the /etc/resolv.conf for programs inside. */
export function resolvConf(instance: Instance): string {
  return join(instance.config, "resolv.conf");
}
