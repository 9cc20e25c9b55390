import { lifeOf } from "#api/tls.ts";
import { rfc3339 } from "#base/timestamp.ts";
import { isLate } from "#certificates/late.ts";
import { isOverdue, requestWords } from "#certificates/request.ts";
import { remark } from "#runtime/decide.ts";
import { ownBinding, type UserSnapshot } from "#user/snapshot.ts";
import type { UserRule } from "#user/step.ts";

/**
 * The certificate of a binding comes to its end, and should have been renewed long ago, or cert-manager does not renew it. People are told; all else
 * goes on.
 */
export const bindingEnds: UserRule = {
  name: "binding-ends",
  decide(snapshot) {
    const told = [...endingOf(snapshot), ...renewalTrouble(snapshot)];
    return told.length === 0 ? undefined : remark("binding-ends", told.join("; "));
  },
};

function endingOf({ user, cluster, binding, takenAtMs }: UserSnapshot): readonly string[] {
  const own = ownBinding({ user, binding });
  if (own?.certificate === undefined || cluster === undefined) return [];
  const { notAfterMs: endsMs } = own.certificate;
  if (endsMs === 0 || !isLate(own.certificate, lifeOf(cluster.spec, "client"), takenAtMs)) return [];
  const verb = endsMs <= takenAtMs ? "has ended" : "ends";
  return [`the certificate in Secret ${own.name} ${verb} at ${rfc3339(endsMs)}, and has not been renewed`];
}

/** What cert-manager is to make anew, and does not. */
function renewalTrouble(snapshot: UserSnapshot): readonly string[] {
  const { request, takenAtMs } = snapshot;
  if (request.is !== "present" || ownBinding(snapshot)?.certificate === undefined) return [];
  if (!isOverdue(request.value, takenAtMs)) return [];
  return [`Secret ${request.value.metadata.name} is not renewed: ${requestWords(request.value)}`];
}
