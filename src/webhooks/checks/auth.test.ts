import { expect, test } from "vitest";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { cluster } from "#kit/snapshots/cluster.ts";
import { guarded, withAuth } from "#kit/snapshots/cluster-auth.ts";
import { secured } from "#kit/snapshots/cluster-tls.ts";
import { authRefusals } from "#webhooks/checks/auth.ts";

const plain = cluster().cluster;
const secure = secured().cluster;
const unverified = secured({}, { client: { verifyClients: false } }).cluster;
const on = guarded({ recorded: true }).cluster;
const wanting = (of: EtcdCluster, enabled = true): EtcdCluster => ({ ...of, spec: { ...of.spec, auth: { enabled } } });
const fresh = leftOpen(cluster({ stage: "new" }).cluster);
/** A copy without spec.tls. */
function leftOpen(of: EtcdCluster): EtcdCluster {
  const { tls: _, ...spec } = of.spec;
  return { ...of, spec };
}
const NEED = /^it is true; it needs spec\.tls\.client .* verifyClients true/;

test.each<{ name: string; is: EtcdCluster; was?: EtcdCluster; refused?: readonly [string, RegExp] }>([
  { name: "users with client certificates", is: wanting(secure), was: secure },
  {
    name: "users of an existing cluster without TLS",
    is: wanting(plain),
    was: plain,
    refused: ["spec.auth.enabled", NEED],
  },
  { name: "users of a new cluster without spec.tls", is: wanting(fresh) },
  {
    name: "users of a new cluster without client certificates",
    is: wanting(unverified),
    refused: ["spec.auth.enabled", NEED],
  },
  { name: "an unchanged invalid spec", is: wanting(plain), was: wanting(plain) },
  { name: "disabled users without TLS", is: wanting(plain, false), was: plain },
  {
    name: "client certificates switched off while users exist",
    is: { ...on, spec: { ...on.spec, tls: unverified.spec.tls! } },
    was: on,
    refused: ["spec.auth.enabled", NEED],
  },
  {
    name: "client certificates switched off together with an omitted spec.auth",
    is: { ...unverified, status: on.status! },
    was: on,
    refused: [
      "spec.tls.client",
      /set spec\.auth\.enabled to false first, and wait until status\.auth\.enabled is false/,
    ],
  },
  { name: "client certificates switched off without users", is: unverified, was: secure },
  {
    name: "client certificates switched off after users were",
    is: unverified,
    was: withAuth(secured(), { wanted: false, recorded: false }).cluster,
  },
])("$name", ({ is, was, refused }) => {
  const found = authRefusals(is, was);
  expect(found.map(({ field }) => field)).toEqual(refused === undefined ? [] : [refused[0]]);
  if (refused !== undefined) expect(found[0]?.message).toMatch(refused[1]);
});
