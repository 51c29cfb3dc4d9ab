/** Why a certificate was refused, and what a human can do about it. */
export interface CertificateFault {
  why: string;
  remedy: string;
}

const TRUST =
  'If the service is the right one, set NODE_EXTRA_CA_CERTS, in the environment of this program, to a PEM file with the certificate of its issuer (or with its own, where it is signed by itself).';
const UNKNOWN_ISSUER = { why: 'this machine does not know who issued it', remedy: TRUST };

/** By error codes of OpenSSL and Node.js. */
const FAULTS: Readonly<Record<string, CertificateFault>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: { why: 'it is signed by itself', remedy: TRUST },
  SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN_ISSUER,
  UNABLE_TO_GET_ISSUER_CERT: UNKNOWN_ISSUER,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_ISSUER,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN_ISSUER,
  CERT_UNTRUSTED: UNKNOWN_ISSUER,
  CERT_HAS_EXPIRED: {
    why: 'it has expired',
    remedy: "Renew the service's certificate, and check this machine's clock.",
  },
  CERT_NOT_YET_VALID: { why: 'it is not valid yet', remedy: "Check the clocks of this machine and of the service's." },
  CERT_REVOKED: { why: 'it was revoked', remedy: 'Do not use it: the service needs a new one.' },
  ERR_TLS_CERT_ALTNAME_INVALID: {
    why: 'it is for another host name',
    remedy: 'Use the host name of the certificate in the address of the service.',
  },
};

/** The fault behind an error code of a TLS connection; undefined if the error is not about a certificate. */
export function certificateFault(code: string): CertificateFault | undefined {
  return Object.hasOwn(FAULTS, code) ? FAULTS[code] : undefined;
}
