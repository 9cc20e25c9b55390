import type { Reason } from "#api/conditions.ts";
import { hindranceOf } from "#cluster/auth/hindrance.ts";
import { haveAllFailed } from "#cluster/first-backup.ts";
import { CLUSTER_RULES } from "#cluster/plan.ts";
import type { Aside } from "#runtime/decide.ts";
import { tlsReady } from "./tls-ready.ts";
import type { Case } from "./verdict.ts";

interface Hindrance {
  readonly reason: Reason;
  readonly message: string;
}

/** Rules and guards whose waits and remarks last until a person changes something; each has a reason of its own. */
const REASON_OF_RULE: Readonly<Record<string, Reason>> = {
  "name-taken": "NameTaken",
  "claim-taken": "ClaimTaken",
  "restore-failed": "RestoreFailed",
  "no-version-path": "NoVersionPath",
  "refused-spec": "SpecRefused",
  "runnable-only": "SpecRefused",
  "put-back": "UpdateStopped",
  "dying-claim-is-held": "StepRefused",
  "no-space": "NoSpaceAlarm",
  "headless-service": "NameTaken",
  "client-service": "NameTaken",
  "disruption-budget": "NameTaken",
  "network-policy": "NameTaken",
  "pod-monitor": "NameTaken",
  authority: "CertificateInvalid",
  leaf: "CertificateInvalid",
  "trust-map": "NameTaken",
  "certificate-request": "IssuerFailed",
};

/** What is remarked by these is no work that is left, and hinders nobody: a condition of its own, or the status, tells it. */
const ONLY_TOLD = new Set(["certificate-ends", "rotation-held", "right-missing", "unmanaged-names"]);

/** Rules that never wait by themselves: a plan that waits under their name holds everything back because their step is refused or undone. */
const HOLDING = new Set(CLUSTER_RULES.flatMap(({ name, holds }) => (holds ? [name] : [])));

/** What the plan waits for and only a person can clear away: the cluster is not progressing then. */
export function blocked({ plan, snapshot }: Pick<Case, "plan" | "snapshot">): Hindrance | undefined {
  if (plan.next !== "wait") return undefined;
  if (plan.rule === "await-certificates") return plan.warn ? ofCertificates({ snapshot, plan }) : undefined;
  // While one goes on, or is to be made, nobody has to do anything.
  if (plan.rule === "backup-first")
    return haveAllFailed(snapshot) ? { reason: "BackupFailed", message: plan.because } : undefined;
  if (HOLDING.has(plan.rule)) return { reason: "StepRefused", message: `${plan.rule}: ${plan.because}` };
  const reason = REASON_OF_RULE[plan.rule];
  return reason === undefined ? undefined : { reason, message: plan.because };
}

/** TLSReady has a reason for all that may be wrong with them. */
function ofCertificates(given: Pick<Case, "plan" | "snapshot">): Hindrance | undefined {
  const { reason, message } = tlsReady(given) ?? {};
  return reason === undefined || message === undefined ? undefined : { reason, message };
}

/** What is wanted and is not done for now, for whatever reason. */
export function notDone({ plan }: Pick<Case, "plan">): readonly Aside[] {
  return (plan.aside ?? []).filter(({ rule }) => !ONLY_TOLD.has(rule));
}

/** What is wanted and is not there, because it is refused, undone or taken; the rest of the work goes on beside it. */
export function missing(given: Pick<Case, "plan" | "snapshot">): Hindrance | undefined {
  const lacking = notDone(given).filter(({ is }) => is !== "putOff");
  const lacks = lacking.map(({ rule, because, code, is }) => ({
    reason: reasonOf(is === "remark" ? reasonOfRemark(rule, given) : undefined, code),
    message: is === "remark" ? because : `${rule}: ${because}`,
  }));
  const [first] = lacks;
  return first === undefined
    ? undefined
    : { reason: first.reason, message: lacks.map(({ message }) => message).join("; ") };
}

/** What people have to do about etcd's users, and about certificates, has as many reasons as AuthReady and TLSReady have. */
function reasonOfRemark(rule: string, given: Pick<Case, "plan" | "snapshot">): Reason | undefined {
  if (rule === "administrators") return hindranceOf(given.snapshot)?.reason;
  if (rule !== "await-certificates") return REASON_OF_RULE[rule];
  const told = tlsReady(given);
  return told?.reason ?? "CertificatesPending";
}

function reasonOf(own: Reason | undefined, code: string | undefined): Reason {
  return own ?? (code === "KubeAlreadyExists" ? "NameTaken" : "StepRefused");
}
