import { WAIVE_ANNOTATION } from "#api/names.ts";
import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { type Scene, type Story, scene } from "./scene.ts";

function restarts(of: Scene): number {
  return of.did().filter((did) => did.startsWith("restartPod")).length;
}

/** Waives a check of the update for half a minute. */
function waive(of: Scene, check: string): void {
  const { cluster, world } = of;
  const annotations = { [WAIVE_ANNOTATION]: `${check} until ${rfc3339(world.time.nowMs + 30_000)}` };
  world.api.update("person", ETCD_CLUSTERS, cluster, { metadata: { ...cluster.metadata, annotations } });
}

/**
 * The operator cannot reach one member of five. An update waits for it until a person waives the check, and again after
 * the waiver ends.
 */
export const waiverIsIgnored: Story = async () => {
  const of = await scene(5);
  of.process("db-1").isHidden = true;
  of.edit({ version: "3.6.17" });
  await of.forMs(60_000);
  if (restarts(of) > 0) return `${restarts(of)} members restarted while a member gave no answer`;
  waive(of, "restart-keeps-quorum");
  await of.forMs(20_000);
  if (restarts(of) > 0) return "a check that protects the quorum was waived";
  waive(of, "MembersHealthy");
  await of.forMs(20_000);
  if (of.cluster.status?.waivers?.[0]?.check !== "MembersHealthy") return "the status does not report the waiver";
  if (restarts(of) === 0) return "the update still waits after the waiver";
  await of.forMs(60_000);
  if (of.cluster.status?.waivers !== undefined) return "the waiver lasts longer than stated";
  const before = restarts(of);
  of.process("db-1").isHidden = true; // The member may have restarted.
  of.edit({ version: "3.6.18" });
  await of.forMs(60_000);
  return restarts(of) === before ? undefined : "an expired waiver is used";
};
