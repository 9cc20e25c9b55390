import { expect, test } from "vitest";
import { DEFAULT_TLS, NO_TLS } from "#api/tls.ts";
import { claim, claimIdentity, cluster, open } from "#kit/snapshots/cluster.ts";
import { withDefaultTls } from "./default-tls.ts";

// When TLS of a cluster is undecided: rules/identity/plan.test.ts.

test("only a cluster with undecided TLS is observed with the default TLS", () => {
  const fresh = cluster({ stage: "new" });
  expect(withDefaultTls(open(fresh)).cluster).toEqual({
    ...fresh.cluster,
    spec: { ...fresh.cluster.spec, tls: DEFAULT_TLS },
  });
  expect(withDefaultTls(fresh).cluster.spec.tls).toEqual(NO_TLS);
  const kept = open(cluster({ stage: "new", with: { claims: [claim("my-etcd-0", claimIdentity("abc", "1"))] } }));
  expect(withDefaultTls(kept)).toBe(kept);
});
