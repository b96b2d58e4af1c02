/** Making certificates: authorities, and certificates of servers and clients that they sign. */
export { createAuthority, type KeyPair, signServerCertificate } from "./authority.ts";
export {
  type ClientCertificateRequest,
  type IssuedCertificate,
  issueClientCertificate,
  issueServerCertificate,
  type ServerCertificateRequest,
} from "./own-authority.ts";
export { CertificateRequestError, checkDnsName, daysMax, isDnsLabel, validityOfDays } from "./request.ts";
