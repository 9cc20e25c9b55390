import { expect, test } from "vitest";
import { OperatorError } from "#base/error.ts";
import { noIdentities } from "#certificates/dial.ts";
import { issuer } from "#certificates/issue.ts";
import { actOnCluster, type ClusterWrites } from "#cluster/act.ts";
import type { ClusterStep } from "#cluster/step.ts";
import { cluster } from "#kit/cluster.ts";
import { secured } from "#kit/cluster-tls.ts";
import type { KubeObject, Ref, Resource } from "#kube/kinds.ts";

// Of what members show to each other nothing tells when it changes: it is read once more before somebody goes for it.

const certified = secured();
const peer = certified.peers.find(({ metadata }) => metadata.name === "my-etcd-2")!;
const GIVEN_UP: ClusterStep = { do: "markRemoval", peer, removal: "replacement" };
const RESTARTED: ClusterStep = { do: "restartPod", name: "my-etcd-2", pod: certified.pods.get("my-etcd-2")! };

/** Does the step. @param shown what the API server has of the Secret that members show; undefined: nothing @returns what was asked, in order */
async function asked(step: ClusterStep, shown: object | undefined, snapshot = certified): Promise<readonly string[]> {
  const calls: string[] = [];
  const note = (verb: string) => (resource: Resource<KubeObject>, ref: Ref) => {
    calls.push(`${verb} ${resource.kind} ${ref.name}`);
    return Promise.resolve({ metadata: ref });
  };
  const get = async (resource: Resource<KubeObject>, ref: Ref) => {
    await note("get")(resource, ref);
    if (shown === undefined) throw new OperatorError("KubeNotFound", "it is not there");
    return { metadata: { uid: "uid-of-my-etcd-peer-tls", resourceVersion: "1", ...shown } };
  };
  const kube = { get, patch: note("patch"), delete: note("delete") } as unknown as ClusterWrites["kube"];
  const writes = { kube, etcd: {} as ClusterWrites["etcd"], identities: noIdentities, issuer };
  await actOnCluster(writes, step, snapshot, new AbortController().signal);
  return calls;
}

test("nobody is given up, or restarted, before what members show was read once more", async () => {
  expect(await asked(GIVEN_UP, {})).toEqual(["get Secret my-etcd-peer-tls", "patch EtcdPeer my-etcd-2"]);
  expect(await asked(RESTARTED, {})).toEqual(["get Secret my-etcd-peer-tls", "delete Pod my-etcd-2-abcde"]);
});

test.each([
  { what: "has been written", shown: { resourceVersion: "2" } },
  { what: "has been made anew", shown: { uid: "another" } },
  { what: "is gone", shown: undefined },
])("nor when it $what since it was looked at", async ({ shown }) => {
  await expect(asked(GIVEN_UP, shown)).rejects.toMatchObject({ code: "KubeConflict" });
  await expect(asked(RESTARTED, shown)).rejects.toMatchObject({ code: "KubeConflict" });
});

test("who is not wanted any more goes whatever is shown, and a removal is taken back", async () => {
  expect(await asked({ ...GIVEN_UP, removal: "scale-down" }, undefined)).toEqual(["patch EtcdPeer my-etcd-2"]);
  expect(await asked({ ...GIVEN_UP, removal: undefined }, undefined)).toEqual(["patch EtcdPeer my-etcd-2"]);
});

test("where members show nothing there is nothing to read", async () => {
  const plain = cluster();
  const pod = plain.pods.get("my-etcd-2")!;
  expect(await asked({ ...RESTARTED, pod }, undefined, plain)).toEqual(["delete Pod my-etcd-2-abcde"]);
});
