"""Settings of the Superset that the tests start, by SUPERSET_CONFIG_PATH; it lives in SUPERSET_HOME."""

import os

SECRET_KEY = "of a server that one test session talks to over loopback"
SQLALCHEMY_DATABASE_URI = f"sqlite:///{os.environ['SUPERSET_HOME']}/superset.db?check_same_thread=false"
PREVENT_UNSAFE_DB_CONNECTIONS = False  # a file beside the ZIP is what is tested
WTF_CSRF_ENABLED = False
TALISMAN_ENABLED = False
RATELIMIT_ENABLED = False
CACHE_CONFIG = {"CACHE_TYPE": "NullCache"}
DATA_CACHE_CONFIG = {"CACHE_TYPE": "NullCache"}
