import { expect, test } from "vitest";
import { DEFAULT_TLS } from "#api/tls.ts";
import { clusterTlsSchema } from "#api/v1beta1/tls-schema.ts";
import { identityFor } from "#etcd/identity.ts";
import { hexOf } from "#etcd/types.ts";
import { etcdRestore, NAMES, UID } from "#kit/snapshots/etcd-restore.ts";
import { identityAnnotations, memberNames, restoredIdentity, restoredSpec } from "#restore/identity.ts";

const restore = etcdRestore();
const url = (name: string) => `http://${name}.restored.foo.svc:2380`;

test("the identity is derived from the members' peer URLs and a token with the restore's uid", () => {
  const token = `foo/restored/${UID}`;
  const identity = identityFor({ token, members: NAMES.map((name) => ({ name, peerUrl: url(name) })) });
  expect(memberNames(restore)).toEqual(NAMES);
  expect(restoredIdentity(restore)).toEqual({
    token,
    clusterID: hexOf(identity.clusterId),
    members: identity.members.map(({ name, id }) => ({ name, url: url(name), id: hexOf(id) })),
  });
});

test("members with TLS have other member IDs, and their claims record the https scheme", () => {
  const { clusterTemplate } = restore.spec;
  const spec = { ...clusterTemplate.spec, tls: clusterTlsSchema.parse({}) };
  const secured = { ...restore, spec: { ...restore.spec, clusterTemplate: { ...clusterTemplate, spec } } };
  const { clusterID, members } = restoredIdentity(secured);
  expect(members.map(({ url: at }) => at)).toEqual(NAMES.map((name) => url(name).replace("http:", "https:")));
  expect(clusterID).not.toBe(restoredIdentity(restore).clusterID);
  for (const name of NAMES)
    expect(identityAnnotations(secured, name)).toMatchObject({ "etcd.improbable.io/peer-scheme": "https" });
});

test("each claim records its member's ID, and each restore has a cluster ID of its own", () => {
  const { clusterID, token, members } = restoredIdentity(restore);
  for (const { name, id } of members)
    expect(identityAnnotations(restore, name)).toEqual({
      "etcd.improbable.io/cluster-id": clusterID,
      "etcd.improbable.io/cluster-token": token,
      "etcd.improbable.io/etcd-version": restore.spec.clusterTemplate.spec.version,
      "etcd.improbable.io/member-id": id,
    });
  expect(new Set(members.map(({ id }) => id)).size).toBe(3);
  const another = { ...restore, metadata: { ...restore.metadata, uid: "another" } };
  expect(restoredIdentity(another).clusterID).not.toBe(clusterID);
});

test("a restored cluster without spec.tls uses TLS, and a restore that began with http keeps http", () => {
  const { tls: _, ...spec } = restore.spec.clusterTemplate.spec;
  const open = { ...restore, spec: { ...restore.spec, clusterTemplate: { clusterName: "restored", spec } } };
  const { clusterID, members } = restoredIdentity(open);
  expect(members[0]?.url).toBe(url("restored-0").replace("http:", "https:"));
  expect(restoredSpec(open).tls).toEqual(DEFAULT_TLS);
  expect(identityAnnotations(open, "restored-0")).toMatchObject({ "etcd.improbable.io/peer-scheme": "https" });
  // A restore keeps the scheme with which it began, also http.
  expect(restoredIdentity({ ...open, status: { clusterID } })).toEqual(restoredIdentity(open));
  const begun = { ...open, status: { clusterID: restoredIdentity(restore).clusterID } };
  expect(restoredIdentity(begun)).toEqual(restoredIdentity(restore));
  expect(restoredSpec(begun)).toEqual(spec);
  expect(identityAnnotations(begun, "restored-0")).not.toHaveProperty(["etcd.improbable.io/peer-scheme"]);
});
