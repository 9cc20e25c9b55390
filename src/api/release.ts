/** Supported etcd releases, as a regular expression for both CEL and JavaScript. */
export const RELEASES = "^3[.](5[.](1[1-9]|[2-9][0-9]|[1-9][0-9][0-9]+)|6[.](0|[1-9][0-9]*)|7[.](0|[1-9][0-9]*))$";
/** Supported etcd releases, for messages. */
export const A_RELEASE = "an etcd release without a leading v: 3.5.11 or later, 3.6.x or 3.7.x";
