import { expect, test } from "vitest";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { actOnCluster, type ClusterWrites } from "#cluster/act.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import type { ClusterStep } from "#cluster/step.ts";
import { cluster } from "#kit/cluster.ts";
import { asleep, SLEEP, tired, wanted } from "#kit/cluster-sleep.ts";
import type { Draft } from "#kube/kinds.ts";

test("that a cluster sleeps, and is woken, is written by the two steps, as the object was read", async () => {
  expect(await written({ do: "fallAsleep" }, tired())).toEqual({ since: "2026-01-01T12:00:00Z" });
  const given = wanted(asleep(), 3);
  expect(await written({ do: "wakeUp" }, given)).toEqual({ ...SLEEP, wokenAt: "2026-01-01T12:00:00Z" });
  await expect(written({ do: "wakeUp" }, cluster())).rejects.toThrow("only a cluster that sleeps is woken");
});

async function written(step: ClusterStep, given: ClusterSnapshot) {
  const kube = { replace: (_: unknown, draft: Draft<EtcdCluster>) => Promise.resolve(draft) };
  const writes = { kube, etcd: {} } as unknown as ClusterWrites;
  const made = await actOnCluster(writes, step, given, new AbortController().signal);
  return made.kind === "stored" ? (made.object as EtcdCluster).status?.sleep : undefined;
}
