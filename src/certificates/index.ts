/** Making certificates: authorities, and certificates of servers and clients that they sign. */
export {
  type ClientCertificateRequest,
  type IssuedCertificate,
  issueClientCertificate,
  issueServerCertificate,
  type ServerCertificateRequest,
} from "./own-authority.ts";
export { CertificateRequestError, checkDnsName, daysMax, isDnsLabel } from "./request.ts";
