// OIDs of extended key usages: RFC 5280, section 4.2.1.12.

export const SERVER_AUTH = "1.3.6.1.5.5.7.3.1";
export const CLIENT_AUTH = "1.3.6.1.5.5.7.3.2";
export const ANY_USE = "2.5.29.37.0";
