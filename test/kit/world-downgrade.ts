import type { DowngradeAction } from "#etcd/client.ts";
import type { Etcd, Process } from "./world-etcd.ts";
import { refusal, timedOut } from "./world-refusal.ts";
import { minorOf } from "./world-version.ts";

/**
 * What the member does when it is asked for a downgrade: `downgradeValidate`, `downgradeEnable` and `downgradeCancel` in
 * server/etcdserver/v3_server.go. Release 3.5 cancels one, and gives no answer.
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
