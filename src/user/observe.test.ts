import { expect, test } from "vitest";
import { CLIENT_TRUST_ANNOTATION } from "#api/names.ts";
import { absent, present } from "#base/observed.ts";
import { etcdOf, NEXT, OWN, signerOf, userLook } from "#kit/snapshots/access.ts";
import { born, NOW } from "#kit/snapshots/cluster.ts";
import { bundle } from "#kit/snapshots/cluster-tls.ts";
import { FakeClock } from "#kit/time/fake-clock.ts";
import type { Pod, Ref } from "#kube/kinds.ts";
import { observeUser, type UserReads } from "#user/observe.ts";

const { signal } = new AbortController();

/** A pod that trusts these CAs. @param isLost whether its node is lost, so that it cannot end */
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

/**
 * @param peers names of the EtcdPeers
 * @param signer the CA that signs bindings
 * @param trusted CAs of members' certificates; undefined: not known yet
 */
async function seen(
  pods: readonly Pod[],
  peers: readonly string[],
  signer = NEXT,
  trusted?: readonly (typeof OWN)[],
  cluster = etcdOf(),
) {
  const { user, binding } = userLook();
  const found = { binding, signer: present(signerOf(signer)), isIssuedTaken: false, request: absent };
  const reads = {
    users: { get: () => user, byIndex: () => [user] },
    clusters: { get: () => cluster },
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

test("a pod on a lost node blocks no binding once its member has a new pod or is removed", async () => {
  const members = [pod("a", BOTH), pod("b", BOTH)];
  expect((await seen([pod("a", [OWN], true), ...members], ["a", "b"])).doubters).toEqual([]);
  expect((await seen([pod("c", [OWN], true), ...members], ["a", "b"])).doubters).toEqual([]);
  expect((await seen([pod("c", [OWN], true), ...members], ["a", "b", "c"])).doubters).toEqual(["c"]);
});

test("a pod on a lost node does not count as trusting a certificate once its member has a new pod", async () => {
  const members = [pod("a", [NEXT]), pod("b", [NEXT])];
  expect((await seen([pod("a", [OWN], true), ...members], ["a", "b"])).isBelieved).toBe(false);
  expect((await seen([pod("c", [OWN], true), ...members], ["a", "b"])).isBelieved).toBe(false);
  expect((await seen([pod("c", [OWN], true), ...members], ["a", "b", "c"])).isBelieved).toBe(true);
});

test("pods count as trusting a certificate when no EtcdPeer exists", async () => {
  expect((await seen([pod("a", [OWN])], [])).isBelieved).toBe(true);
  expect((await seen([pod("a", [OWN]), pod("b", [NEXT])], ["b"])).isBelieved).toBe(false);
});

test("a CA that has not signed the members' certificates is not used to sign bindings", async () => {
  const signerAmong = async (trusted?: readonly (typeof OWN)[]) => (await seen([], [], NEXT, trusted)).signer;
  expect((await signerAmong([OWN, NEXT])).is).toBe("present");
  expect((await signerAmong()).is).toBe("present");
  const why = "Secret my-etcd-client-ca holds a CA that has not signed the members' certificates";
  expect(await signerAmong([OWN])).toEqual({ is: "unknown", why });
});

test("during a pause the binding and the CA are read, and etcd is not", async () => {
  const paused = etcdOf({}, { spec: { paused: true } });
  const found = await seen([pod("a", [OWN])], ["a"], OWN, [OWN], paused);
  expect(found).toMatchObject({ access: absent, found: absent, password: absent, doubters: [], isBelieved: true });
  expect([found.binding.is, found.signer.is]).toEqual(["present", "present"]);
});
