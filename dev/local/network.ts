import { existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "../run.ts";
import { DNS_ADDRESS, MAX_NODES, nodeAddresses, SERVICE_NETWORK } from "./addresses.ts";
import type { Instance } from "./instance.ts";
import { currentMounts } from "./mounts.ts";

/** Name of the link's end inside the namespace. */
const INSIDE_DEVICE = "host0";

/** Makes what is missing of the instance's network. Names, addresses and routes of the host stay as they are, but for one /30. */
export async function ensureNetwork(instance: Instance, nodes: number): Promise<void> {
  mkdirSync(instance.runFolder, { recursive: true });
  if (!isThere(instance)) {
    if (!existsSync(instance.networkFile)) writeFileSync(instance.networkFile, "");
    // The namespace lives as long as this mount, without a process in it. `ip netns add` would do the same, and leave
    // its own mount on /run/netns behind for ever.
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

/** Number by which /proc names the namespace. */
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

/** Shell commands that bring the inside to its wanted state from any state. */
function insideScript(instance: Instance, nodes: number): string {
  const local = [DNS_ADDRESS];
  for (let node = 1; node <= MAX_NODES; node++) local.push(nodeAddresses(node).address, nodeAddresses(node).apiAddress);
  const lines = [
    "ip link set lo up",
    ...local.map((address) => `ip address replace ${address}/32 dev lo`),
    `ip address replace ${instance.link.insideAddress}/30 dev ${INSIDE_DEVICE}`,
    `ip link set ${INSIDE_DEVICE} up`,
    // There is no default route, so that nothing leaves. Programs inside still need some route to call a cluster IP:
    // its destination is rewritten before the route counts.
    `ip route replace ${SERVICE_NETWORK} dev lo src ${instance.link.insideAddress}`,
    "echo 1 > /proc/sys/net/ipv4/ip_forward",
    // Pods of one node that call each other through a Service: without this the answer takes the short way over the
    // bridge, past the rule that would rewrite its source.
    "[ ! -e /proc/sys/net/bridge/bridge-nf-call-iptables ] || echo 1 > /proc/sys/net/bridge/bridge-nf-call-iptables",
  ];
  for (let node = 1; node <= nodes; node++) {
    const { bridge, gateway, gatewayMac } = nodeAddresses(node);
    lines.push(
      `ip link show ${bridge} >/dev/null 2>&1 || ip link add ${bridge} type bridge`,
      // Of its own: without it a bridge takes the lowest of its ports, so that its address changes with pods that come and
      // go, and the other pods of the node send into the void until they ask for it again, for up to a minute.
      `ip link set ${bridge} address ${gatewayMac}`,
      `ip address replace ${gateway}/24 dev ${bridge}`,
      `ip link set ${bridge} up`,
    );
  }
  return `${lines.join("\n")}\n`;
}

/**
 * nft commands by which a pod that a Service leads back to itself gets an answer: it takes none that seems to come from its own address. kube-proxy
 * has the same rule for the pods of its own node alone, and here one of them serves all nodes.
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

/** All that pods of the node may have. */
function podAddresses(node: number): string[] {
  const { gateway, podNetwork } = nodeAddresses(node);
  const prefix = podNetwork.slice(0, podNetwork.lastIndexOf(".") + 1);
  return Array.from({ length: 254 }, (_, index) => `${prefix}${index + 1}`).filter((address) => address !== gateway);
}

/** Takes the link away at once; the namespace itself goes with its mount and its last process. */
export async function removeLink(hostDevice: string): Promise<void> {
  await run("ip", ["link", "delete", hostDevice], { mayFail: true });
}

/** argv that runs a program inside the namespace and becomes it: same process number, no parent in between. */
export function inside(instance: Instance, argv: readonly string[]): string[] {
  return ["nsenter", `--net=${instance.networkFile}`, "--", ...argv];
}

export async function runInside(instance: Instance, argv: readonly string[], input?: string): Promise<string> {
  const [program = "", ...args] = inside(instance, argv);
  return (await run(program, args, input === undefined ? {} : { input })).stdout;
}

/** What programs inside use as their /etc/resolv.conf. */
export function resolvConf(instance: Instance): string {
  return join(instance.config, "resolv.conf");
}
