import { expect, test } from "vitest";
import { DEFAULT_TLS, NO_TLS } from "#api/tls.ts";
import { withDefaultTls } from "#cluster/default-tls.ts";
import { claim, claimIdentity, cluster, open } from "#kit/cluster.ts";

// When it is open whether a cluster speaks TLS: rules/identity/plan.test.ts.

test("a cluster that leaves it open is seen as it will be, and every other one as it is", () => {
  const fresh = cluster({ stage: "new" });
  expect(withDefaultTls(open(fresh)).cluster).toEqual({
    ...fresh.cluster,
    spec: { ...fresh.cluster.spec, tls: DEFAULT_TLS },
  });
  expect(withDefaultTls(fresh).cluster.spec.tls).toEqual(NO_TLS);
  const kept = open(cluster({ stage: "new", with: { claims: [claim("my-etcd-0", claimIdentity("abc", "1"))] } }));
  expect(withDefaultTls(kept)).toBe(kept);
});
