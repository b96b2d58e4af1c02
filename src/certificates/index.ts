/** Making certificates: authorities, and certificates of servers and clients that they sign. */
export { type IssuedCertificate, issueClientCertificate, issueServerCertificate } from "./own-authority.ts";
