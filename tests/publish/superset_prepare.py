"""Makes Superset's own tables, roles and one admin: `db upgrade`, `init` and `fab create-admin` in one process.

Run by the interpreter that has Superset; each command of its own would start all of Superset again.
"""

from flask_migrate import upgrade
from superset.app import create_app

app = create_app()
with app.app_context():
    from superset import appbuilder, security_manager

    upgrade()
    appbuilder.add_permissions(update_perms=True)
    security_manager.sync_role_definitions()
    admin = security_manager.find_role("Admin")
    assert security_manager.add_user("admin", "A", "B", "a@example.org", admin, password="admin")
