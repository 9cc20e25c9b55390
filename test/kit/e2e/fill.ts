import { CLIENT_PORT } from "#api/names.ts";
import { systemClock } from "#base/clock.ts";
import { GrpcClient } from "#etcd/grpc-client.ts";
import { TransportPool } from "#etcd/transport.ts";
import type { Pod } from "#kube/kinds.ts";
import type { UserCluster } from "./e2e.ts";

/** Puts values of a megabyte each, through the cluster's first member. */
export async function fill(cluster: UserCluster, megabytes: number): Promise<void> {
  const { status } = await cluster.json<Pod>("get", "pod", await cluster.podOf(`${cluster.name}-0`));
  const pool = new TransportPool(systemClock);
  const client = new GrpcClient({ pool, clock: systemClock });
  const endpoint = { address: `${status?.podIP}:${CLIENT_PORT}` };
  const value = "a value of the test, ".repeat(1_000_000 / 21);
  for (let n = 0; n < megabytes; n++) {
    const options = { signal: AbortSignal.timeout(30_000), deadlineMs: 30_000 };
    await client.put(endpoint, `big/${n}`, `${value}${n}`, options);
  }
  pool.closeAll();
}
