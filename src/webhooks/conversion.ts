import { converted, type Version } from "#api/conversion.ts";
import { CONVERSION_PATH, GROUP } from "#api/names.ts";
import { ETCD_BACKUPS } from "#api/v1beta1/backup.ts";
import { ETCD_CLUSTERS } from "#api/v1beta1/cluster.ts";
import { ETCD_PEERS } from "#api/v1beta1/peer.ts";
import { ETCD_RESTORES } from "#api/v1beta1/restore.ts";
import { ETCD_BACKUP_SCHEDULES } from "#api/v1beta1/schedule.ts";
import { told } from "#base/json.ts";
import type { Log } from "#base/log.ts";
import { conversionFailure, conversionRequest, conversionReview } from "#webhooks/conversion-review.ts";
import type { Webhook } from "#webhooks/server.ts";
import { invalid, record } from "#webhooks/untrusted.ts";

// When is this asked?
//   For each object that somebody reads, writes or watches in another version than it has: one request per object as API servers do it
//   today, though the protocol allows for a whole list in one. What somebody writes has passed the schema of the version in which it was
//   written; what is stored passed that of its own time. What is made of them here is asked no schema: so it is checked (api/shape.ts).
// What if it fails? Then so does what the API server was asked for, be it a list of all. So what an API server can store is always converted;
//   only what is none of its objects fails. Nothing is ever stored half converted.

/**
 * Longest question, in bytes: the API server takes 3 MiB of a client, and etcd stores half of that, so a single object is far below.
 * A list of 500, the page that clients ask for, may have 32 KiB for each. Half of what the server holds at all (server.ts), so that two
 * lists at a time are converted.
 */
const MAX_BYTES = 16 * 1024 * 1024;

const VERSIONS: readonly Version[] = ["v1alpha1", "v1beta1"];
const API_VERSIONS = VERSIONS.map((version) => `${GROUP}/${version}`);
const KINDS = [ETCD_CLUSTERS, ETCD_PEERS, ETCD_BACKUPS, ETCD_RESTORES, ETCD_BACKUP_SCHEDULES].map(({ kind }) => kind);

type Json = Readonly<Record<string, unknown>>;

/** Turns objects of one version of the API into those of another. It asks nobody and knows nothing. */
export function conversion({ log }: { readonly log: Log }): Webhook {
  return {
    path: CONVERSION_PATH,
    maxBytes: MAX_BYTES,
    answer(body) {
      const { uid, desiredAPIVersion, objects } = conversionRequest(body);
      const to = versionIn(desiredAPIVersion, "request.desiredAPIVersion");
      const results: Json[] = [];
      for (const [index, object] of objects.entries()) {
        try {
          results.push(inVersion(object, to, `request.objects[${index}]`));
        } catch (thrown) {
          const message = `${nameOf(object, index)}: ${thrown instanceof Error ? thrown.message : thrown}`;
          log.info({ because: message }, "could not convert an object");
          return Promise.resolve(conversionFailure(uid, message));
        }
      }
      return Promise.resolve(conversionReview(uid, results));
    },
  };
}

function inVersion(object: unknown, to: Version, where: string): Json {
  const whole = record(object, where);
  versionIn(whole.apiVersion, "apiVersion");
  const { kind } = whole;
  if (typeof kind !== "string" || !KINDS.includes(kind)) {
    throw invalid(`kind is ${told(kind)}; it must be ${KINDS.join(" or ")}`);
  }
  record(whole.metadata, "metadata");
  return converted(whole, kind, to, GROUP);
}

function versionIn(apiVersion: unknown, where: string): Version {
  const version = VERSIONS[API_VERSIONS.indexOf(String(apiVersion))];
  if (typeof apiVersion === "string" && version !== undefined) return version;
  throw invalid(`${where} is ${told(apiVersion)}; it must be ${API_VERSIONS.join(" or ")}`);
}

/** For people; of an object that may be anything. */
function nameOf(object: unknown, index: number): string {
  const { kind, metadata } = (object ?? {}) as { kind?: unknown; metadata?: { namespace?: unknown; name?: unknown } };
  const { namespace, name } = metadata ?? {};
  if (typeof kind !== "string" || typeof name !== "string") return `object ${index}`;
  return `${kind} ${namespace === undefined ? name : `${namespace}/${name}`}`.slice(0, 400);
}
