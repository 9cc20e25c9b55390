import { existsSync } from "node:fs";
import { join } from "node:path";
import { run } from "../run.ts";
import { nodeAddresses } from "./addresses.ts";
import { kubeletCgroup, unifiedHierarchy } from "./cgroups.ts";
import type { Instance } from "./instance.ts";
import { currentMounts } from "./mounts.ts";
import { inside, runInside } from "./network.ts";

// What is a partition here? The node is cut off from everything else, as by a broken switch: packets are dropped, not
// refused. Its kubelet and the API server lose each other. Its pods lose all pods of other nodes, DNS, the API server
// and clients inside the namespace. Pods of the node still reach each other, and their kubelet still probes them.

/** Cuts the node off. A second call changes nothing. */
export async function partition(instance: Instance, node: number): Promise<void> {
  const unified = unifiedHierarchy(currentMounts());
  const cgroup = kubeletCgroup(instance.slot, node);
  const knowsKubelet = unified !== undefined && existsSync(join(unified, cgroup));
  const rules = partitionRules(node, knowsKubelet ? cgroup : undefined);
  // nft looks for the cgroup below /sys/fs/cgroup. Hybrid systems have the v2 hierarchy elsewhere.
  const show = knowsKubelet ? `mount --bind '${unified}' /sys/fs/cgroup && ` : "";
  const [program = "", ...args] = inside(instance, ["unshare", "--mount", "sh", "-c", `${show}nft -f -`]);
  await run(program, args, { input: rules });
}

/** Ends the partition. Does nothing when there is none. */
export async function heal(instance: Instance, node: number): Promise<void> {
  await runInside(instance, ["nft", "-f", "-"], `table ip ${tableName(node)}\ndelete table ip ${tableName(node)}\n`);
}

/** Numbers of the nodes that are cut off. */
export async function partitioned(instance: Instance): Promise<number[]> {
  const tables = await runInside(instance, ["nft", "list", "tables"]);
  return [...tables.matchAll(/^table ip partition-(\d+)$/gm)].map((match) => Number(match[1]));
}

function tableName(node: number): string {
  return `partition-${node}`;
}

/**
 * nft commands that cut the node off.
 * @param cgroup of the node's kubelet; undefined: its probes are dropped, too
 */
export function partitionRules(node: number, cgroup: string | undefined): string {
  const { bridge, gateway, address, apiAddress } = nodeAddresses(node);
  const level = cgroup?.split("/").filter(Boolean).length;
  const kubeletPasses =
    cgroup === undefined ? "" : `oifname "${bridge}" socket cgroupv2 level ${level} "${cgroup.slice(1)}" accept`;
  // Priority 10: after the rules that rewrite cluster IPs, so that the real destination is matched.
  return `table ip ${tableName(node)}
delete table ip ${tableName(node)}
table ip ${tableName(node)} {
  chain forward {
    type filter hook forward priority 10;
    iifname "${bridge}" oifname "${bridge}" accept
    iifname "${bridge}" drop
    oifname "${bridge}" drop
  }
  chain input {
    type filter hook input priority 10;
    iifname "${bridge}" ip daddr != { ${gateway}, ${address} } drop
  }
  chain output {
    type filter hook output priority 10;
    ip daddr { ${address}, ${apiAddress} } drop
    ip saddr { ${address}, ${apiAddress} } drop
    ${kubeletPasses}
    oifname "${bridge}" drop
  }
}
`;
}
