import { WAIVE_ANNOTATION } from "#api/names.ts";
import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { type Scene, type Story, scene } from "./scene.ts";

function restarts(of: Scene): number {
  return of.did().filter((did) => did.startsWith("restartPod")).length;
}

/** A person says what the update need not wait for, for half a minute. */
function waive(of: Scene, check: string): void {
  const { cluster, world } = of;
  const annotations = { [WAIVE_ANNOTATION]: `${check} until ${rfc3339(world.time.nowMs + 30_000)}` };
  world.api.update("person", ETCD_CLUSTERS, cluster, { metadata: { ...cluster.metadata, annotations } });
}

/** The operator cannot reach one member of five; an update waits for it, until somebody waives that, and again when that is over. */
export const waiverIsIgnored: Story = async () => {
  const of = await scene(5);
  of.process("db-1").isHidden = true;
  of.edit({ version: "3.6.17" });
  await of.forMs(60_000);
  if (restarts(of) > 0) return `${restarts(of)} members restarted while another one gave no answer`;
  waive(of, "restart-keeps-quorum");
  await of.forMs(20_000);
  if (restarts(of) > 0) return "what protects the quorum was waived";
  waive(of, "members-healthy");
  await of.forMs(20_000);
  if (of.cluster.status?.waivers?.[0]?.check !== "members-healthy") return "the status does not tell of the waiver";
  if (restarts(of) === 0) return "the update waits although that is waived";
  await of.forMs(60_000);
  if (of.cluster.status?.waivers !== undefined) return "a waiver counts for longer than it says";
  const before = restarts(of);
  of.process("db-1").isHidden = true; // it may have restarted meanwhile
  of.edit({ version: "3.6.18" });
  await of.forMs(60_000);
  return restarts(of) === before ? undefined : "a waiver that is over is used";
};
