"""JSON Web Tokens: HS256 with the setting `jwt_secret`, RS256 and ES256 with `jwks`."""

from __future__ import annotations

import json
import logging
import warnings
from datetime import timedelta
from pathlib import Path
from typing import Any

import jwt
from jwt.warnings import InsecureKeyLengthWarning

from geneva_drive.definition.actor import Actor
from geneva_drive.errors import InvalidInput
from geneva_drive.settings import Settings

logger = logging.getLogger(__name__)

CLOCK_SKEW = timedelta(seconds=30)
_SHORTEST_SECRET = 32  # bytes; RFC 7518 requires at least the length of the hash
_BY_SECRET = "HS256"
_BY_KEY_SET = ("RS256", "ES256")


class KeySetUnavailable(Exception):
    """The address of the setting `jwks` does not answer, so no token can be checked now."""


class BearerTokens:
    """Checks the tokens of requests, and returns their actors."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._client = self._key_set = None
        secret, jwks = settings.jwt_secret, settings.jwks
        if secret is not None and len(secret.encode()) < _SHORTEST_SECRET:
            logger.warning(
                "The setting jwt_secret has fewer than %s bytes, so it may be guessed",
                _SHORTEST_SECRET,
            )
        if jwks is not None and jwks.startswith(("http://", "https://")):
            self._client = jwt.PyJWKClient(jwks, timeout=5, lifespan=300)
        elif jwks is not None:
            self._key_set = _read_key_set(jwks)

    @property
    def is_configured(self) -> bool:
        return self._settings.jwt_secret is not None or self._settings.jwks is not None

    def actor_of(self, token: str) -> Actor | None:
        """Return the actor of a token; None unless its signature, audience and times are valid.

        It may fetch the key set, so it is not called on the event loop.
        """
        try:
            return self._actor(token)
        except jwt.PyJWKClientConnectionError as error:
            logger.warning("The key set of the setting jwks cannot be fetched: %s", error)
            raise KeySetUnavailable from error
        except (jwt.PyJWTError, InvalidInput, TypeError, ValueError, RecursionError) as error:
            # The token is not logged, since it may be valid elsewhere.
            logger.info("A bearer token was refused: %s", type(error).__name__)
            return None

    def _actor(self, token: str) -> Actor | None:
        algorithm = str(jwt.get_unverified_header(token).get("alg"))
        key = self._key(token, algorithm)
        if key is None:
            return None
        settings = self._settings
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InsecureKeyLengthWarning)  # logged at the start
            claims: dict[str, Any] = jwt.decode(
                token,
                key,
                algorithms=[algorithm],
                audience=settings.jwt_audience,
                issuer=settings.jwt_issuer,
                leeway=CLOCK_SKEW,
                options={"require": ["sub"], "verify_aud": settings.jwt_audience is not None},
            )
        return Actor(claims["sub"], _names(claims, "roles"), _names(claims, "permissions"))

    def _key(self, token: str, algorithm: str) -> Any:
        """Return the key for an algorithm, so that no key is used with the wrong algorithm."""
        if algorithm == _BY_SECRET:
            return self._settings.jwt_secret
        if algorithm not in _BY_KEY_SET:
            return None
        if self._client is not None:
            return self._client.get_signing_key_from_jwt(token).key
        if self._key_set is None:
            return None
        wanted = jwt.get_unverified_header(token).get("kid")
        keys = [one for one in self._key_set.keys if one.key_id == wanted or wanted is None]
        return next((one.key for one in keys if one.algorithm_name == algorithm), None)


def _read_key_set(path: str) -> jwt.PyJWKSet:
    try:
        return jwt.PyJWKSet.from_dict(json.loads(Path(path).read_text()))
    except (OSError, ValueError, TypeError, AttributeError, jwt.PyJWTError) as error:
        raise InvalidInput(
            f"Setting jwks must be the address or the file of a JSON Web Key Set, and {path!r} "
            f"cannot be read: {error}."
        ) from error


def _names(claims: dict[str, Any], claim: str) -> list[str]:
    """Return a list of names; OAuth servers also write one name, or several with spaces."""
    given = claims.get(claim, [])
    return given.split() if isinstance(given, str) else list(given)
