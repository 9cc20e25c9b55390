import { expect, test } from "vitest";
import { CLIENT_TRUST_ANNOTATION } from "#api/names.ts";
import { absent, present } from "#base/observed.ts";
import { etcdOf, NEXT, OWN, signerOf, userLook } from "#kit/access.ts";
import { born, NOW } from "#kit/cluster.ts";
import { bundle } from "#kit/cluster-tls.ts";
import { FakeClock } from "#kit/fake-clock.ts";
import type { Pod, Ref } from "#kube/kinds.ts";
import { observeUser, type UserReads } from "#user/observe.ts";

const { signal } = new AbortController();

/** A pod that trusts these. @param isLost whether its node is, so that it cannot end */
function pod(hostname: string, trusted: readonly (typeof OWN)[], isLost = false): Pod {
  return born<Pod>({
    metadata: {
      name: `${hostname}-${isLost ? "lost" : "here"}`,
      annotations: { [CLIENT_TRUST_ANNOTATION]: bundle(...trusted) },
      ...(isLost ? { deletionTimestamp: "2026-01-01T11:30:00Z" } : {}),
    },
    spec: { hostname },
    status: { phase: "Running" },
  } as never);
}

/** @param peers by name @param signer by whom bindings are signed @param trusted by whom members are known; undefined: nobody knows yet */
async function seen(pods: readonly Pod[], peers: readonly string[], signer = NEXT, trusted?: readonly (typeof OWN)[]) {
  const { user, binding } = userLook();
  const found = { binding, signer: present(signerOf(signer)), isIssuedTaken: false, request: absent };
  const reads = {
    users: { get: () => user, byIndex: () => [user] },
    clusters: { get: () => etcdOf() },
    peers: { get: ({ name }: Ref) => (peers.includes(name) ? {} : undefined) },
    pods: { get: () => undefined, byIndex: () => pods },
    access: {
      look: () => Promise.resolve(present({ enabled: true })),
      user: () => Promise.resolve(present(["reader"])),
      password: () => Promise.resolve(present("fits")),
    },
    bindings: { look: () => Promise.resolve(found) },
    identities: { identityOf: () => trusted && { ca: bundle(...trusted), cert: "", key: "" } },
    clock: new FakeClock(NOW),
  } as unknown as UserReads;
  const snapshot = await observeUser(reads, { namespace: "foo", name: "app" }, signal);
  if (snapshot.is !== "present") throw new Error("there is an EtcdUser");
  return snapshot.value;
}

const BOTH = [OWN, NEXT];

test("a pod that cannot end, since its node is lost, holds up no binding once its member has another one, or is taken away", async () => {
  const members = [pod("a", BOTH), pod("b", BOTH)];
  expect((await seen([pod("a", [OWN], true), ...members], ["a", "b"])).doubters).toEqual([]);
  expect((await seen([pod("c", [OWN], true), ...members], ["a", "b"])).doubters).toEqual([]);
  expect((await seen([pod("c", [OWN], true), ...members], ["a", "b", "c"])).doubters).toEqual(["c"]);
});

test("nor does it keep the pair of a binding believed", async () => {
  const members = [pod("a", [NEXT]), pod("b", [NEXT])];
  expect((await seen([pod("a", [OWN], true), ...members], ["a", "b"])).isBelieved).toBe(false);
  expect((await seen([pod("c", [OWN], true), ...members], ["a", "b"])).isBelieved).toBe(false);
  expect((await seen([pod("c", [OWN], true), ...members], ["a", "b", "c"])).isBelieved).toBe(true);
});

test("while all EtcdPeers are gone, their pods still keep the pair of a binding believed: it would be taken away for good", async () => {
  expect((await seen([pod("a", [OWN])], [])).isBelieved).toBe(true);
  expect((await seen([pod("a", [OWN]), pod("b", [NEXT])], ["b"])).isBelieved).toBe(false);
});

test("nothing is signed by another authority than those by whom members are known", async () => {
  const signerAmong = async (trusted?: readonly (typeof OWN)[]) => (await seen([], [], NEXT, trusted)).signer;
  expect((await signerAmong([OWN, NEXT])).is).toBe("present");
  expect((await signerAmong()).is).toBe("present");
  const why = "Secret my-etcd-client-ca holds another authority than those by whom members are known";
  expect(await signerAmong([OWN])).toEqual({ is: "unknown", why });
});
