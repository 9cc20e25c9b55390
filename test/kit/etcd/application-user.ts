import { expect } from "vitest";
import { applicationCertificateName } from "#api/names.ts";
import type { EtcdUser } from "#api/v1beta1/user.ts";
import { ByClientSecret, type TrustIn } from "#kit/e2e/client-secret.ts";
import { eventually, type UserCluster } from "#kit/e2e/e2e.ts";

/**
 * Creates an etcd user that may read and write everything. It authenticates with the certificate in the Secret for
 * applications.
 */
export async function makeApplicationUser(cluster: UserCluster): Promise<void> {
  const clusterRef = { name: cluster.name };
  const permissions = [{ access: "ReadWrite", range: { from: "" } }] as const;
  await cluster.make("EtcdRole", "application", { clusterRef, permissions });
  await cluster.make("EtcdUser", "application", {
    clusterRef,
    userName: applicationCertificateName(cluster.name),
    authentication: { type: "Certificate" },
    roles: ["application"],
  });
}

/** Waits until the condition of the EtcdUser has this reason. */
export async function untilApplicationUser(cluster: UserCluster, reason: string, deadlineMs = 120_000): Promise<void> {
  await eventually(async () => {
    const { status } = await cluster.json<EtcdUser>("get", "etcduser", "application");
    expect(status?.conditions?.[0]?.reason).toBe(reason);
  }, deadlineMs);
}

/** Access over TLS, as that user, to a cluster with authentication; waits until the user is ready. */
export async function asApplicationUser(
  cluster: UserCluster,
  trustIn: TrustIn = "its Secret",
): Promise<ByClientSecret> {
  await makeApplicationUser(cluster);
  await cluster.untilCondition("AuthReady", "True", "AuthEnabled");
  await untilApplicationUser(cluster, "Bound");
  return await ByClientSecret.start(cluster, applicationCertificateName(cluster.name), trustIn);
}
