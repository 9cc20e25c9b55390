import type { DowngradeAction } from "#etcd/client.ts";
import type { Etcd, Process } from "./etcd.ts";
import { refusal, timedOut } from "./refusal.ts";
import { minorOf } from "./version.ts";

/**
 * What a member does at a downgrade request: `downgradeValidate`, `downgradeEnable` and `downgradeCancel` in
 * server/etcdserver/v3_server.go. Release 3.5 cancels a downgrade without an answer.
 */
export function downgrade(etcd: Etcd, { data }: Process, asked: Process, action: DowngradeAction, to: string): void {
  const cluster = etcd.truth.of(data.clusterId);
  if (action === "CANCEL") {
    cluster.downgradeTo = undefined;
    if (minorOf(asked.version) < 6) throw timedOut();
    return;
  }
  const target = minorOf(to);
  if (cluster.minor === undefined || target !== cluster.minor - 1) throw refusal("InvalidDowngradeTargetVersion");
  if (cluster.downgradeTo !== undefined) throw refusal("DowngradeInProcess");
  if (action === "ENABLE") cluster.downgradeTo = target;
}
